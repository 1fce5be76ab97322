/** The requests that wait for a device, within bounds, in batches, and in a policy's order. */
@NullMarked
package io.pipelane.switcher.schedule.queue;

import org.jspecify.annotations.NullMarked;
