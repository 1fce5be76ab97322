/** Policies at work without a device, in no time. */
@NullMarked
package io.pipelane.switcher.schedule.simulator;

import org.jspecify.annotations.NullMarked;
