/** Events that a thread of this process completes. */
@NullMarked
package io.pipelane.lanes.completion;

import org.jspecify.annotations.NullMarked;
