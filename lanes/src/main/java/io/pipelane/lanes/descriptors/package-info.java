/** File descriptors on their way to other processes. */
@NullMarked
package io.pipelane.lanes.descriptors;

import org.jspecify.annotations.NullMarked;
