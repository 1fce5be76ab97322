/** The memory accounting that all devices share. */
@NullMarked
package io.pipelane.lanes.allocation;

import org.jspecify.annotations.NullMarked;
