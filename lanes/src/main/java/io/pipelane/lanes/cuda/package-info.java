/**
 * CUDA devices: pages by virtual memory management, mapped and filled by a thread of the device's
 * own, and ordered on the device itself.
 */
@NullMarked
package io.pipelane.lanes.cuda;

import org.jspecify.annotations.NullMarked;
