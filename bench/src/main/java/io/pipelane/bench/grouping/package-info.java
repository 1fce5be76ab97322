/** Groupings compared on recorded plans: ours, PipeSwitch's Algorithm 1, and simple ones. */
@NullMarked
package io.pipelane.bench.grouping;

import org.jspecify.annotations.NullMarked;
