/** The whole server under load, under bad input and at its end. */
@NullMarked
package io.pipelane.bench.correctness;

import org.jspecify.annotations.NullMarked;
