/** Who has which memory: the accounting that every device does in the same way. */
@NullMarked
package io.pipelane.lanes.allocation;

import org.jspecify.annotations.NullMarked;
