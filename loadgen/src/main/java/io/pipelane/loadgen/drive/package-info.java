/**
 * The measuring itself: when requests are sent, and what is recorded; free of network and clock.
 */
@NullMarked
package io.pipelane.loadgen.drive;

import org.jspecify.annotations.NullMarked;
