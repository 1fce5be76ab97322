/** Latencies, throughputs and their medians. */
@NullMarked
package io.pipelane.bench.measure;

import org.jspecify.annotations.NullMarked;
