/** The way from disk to the device: rates and latencies of models that are on disk only. */
@NullMarked
package io.pipelane.bench.tiers;

import org.jspecify.annotations.NullMarked;
