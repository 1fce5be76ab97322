/** The monitoring of devices: load, clock, memory, power and heat. */
@NullMarked
package io.pipelane.lanes.monitor;

import org.jspecify.annotations.NullMarked;
