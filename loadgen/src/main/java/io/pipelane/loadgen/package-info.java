/** The load generator: measures tail latency of any Open Inference Protocol server. */
@NullMarked
package io.pipelane.loadgen;

import org.jspecify.annotations.NullMarked;
