/** Arrivals: when requests are meant to leave, and which of them say whom they ask. */
@NullMarked
package io.pipelane.loadgen.arrival;

import org.jspecify.annotations.NullMarked;
