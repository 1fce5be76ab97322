/** What generating load costs, beside wrk. */
@NullMarked
package io.pipelane.bench.generator;

import org.jspecify.annotations.NullMarked;
