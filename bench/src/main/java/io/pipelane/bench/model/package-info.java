/** Models that are benchmarked: real ones with fixed inputs, and one that does nothing. */
@NullMarked
package io.pipelane.bench.model;

import org.jspecify.annotations.NullMarked;
