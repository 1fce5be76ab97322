/** What is benchmarked: real models with fixed inputs, and one that does nothing. */
@NullMarked
package io.pipelane.bench.model;

import org.jspecify.annotations.NullMarked;
