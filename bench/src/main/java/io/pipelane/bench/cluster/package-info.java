/** A cluster of devices in the simulator, and what its placement of offline work is made of. */
@NullMarked
package io.pipelane.bench.cluster;

import org.jspecify.annotations.NullMarked;
