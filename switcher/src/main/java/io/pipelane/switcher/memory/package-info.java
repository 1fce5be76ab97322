/**
 * The memory daemon: which weights are on the device, and what leaves for them.
 *
 * <p>Its classes are the parts of one thing: they share the records of models ({@code Residency})
 * and the daemon's lock.
 */
@NullMarked
package io.pipelane.switcher.memory;

import org.jspecify.annotations.NullMarked;
