/** Benchmark programs and their reports. */
@NullMarked
package io.pipelane.bench;

import org.jspecify.annotations.NullMarked;
