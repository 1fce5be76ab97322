/** Devices that are opened for benchmarks, and what models are asked with there. */
@NullMarked
package io.pipelane.bench.accelerator;

import org.jspecify.annotations.NullMarked;
