/** Residency policies compared in the simulator. */
@NullMarked
package io.pipelane.bench.residency;

import org.jspecify.annotations.NullMarked;
