/** Salus' workloads, and traces of jobs made of them. */
@NullMarked
package io.pipelane.bench.salus;

import org.jspecify.annotations.NullMarked;
