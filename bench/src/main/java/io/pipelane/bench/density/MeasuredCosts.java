package io.pipelane.bench.density;

import io.pipelane.switcher.simulator.Friction;

/**
 * The costs that the simulator is told of a device beside its link and the segments' times.
 *
 * @param transferNanos what a run loses by any transfer, however short
 * @param remapPageNanos what putting a page under other addresses takes
 */
record MeasuredCosts(Friction friction, long transferNanos, long remapPageNanos) {}
