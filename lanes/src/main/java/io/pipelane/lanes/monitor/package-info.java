/** What devices say of themselves: load, clock, memory, power and heat. */
@NullMarked
package io.pipelane.lanes.monitor;

import org.jspecify.annotations.NullMarked;
