/** Programs that run live, in the simulator, or both, and on which device. */
@NullMarked
package io.pipelane.bench.live;

import org.jspecify.annotations.NullMarked;
