/** Whole jobs in the simulator's time: iterations in lanes, by the server's policies. */
@NullMarked
package io.pipelane.switcher.jobs;

import org.jspecify.annotations.NullMarked;
