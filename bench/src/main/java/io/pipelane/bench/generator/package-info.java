/** The cost of generating load, beside wrk. */
@NullMarked
package io.pipelane.bench.generator;

import org.jspecify.annotations.NullMarked;
