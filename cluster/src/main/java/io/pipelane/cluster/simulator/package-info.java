/** A cluster in simulated time, under this and other ways to share devices. */
@NullMarked
package io.pipelane.cluster.simulator;

import org.jspecify.annotations.NullMarked;
