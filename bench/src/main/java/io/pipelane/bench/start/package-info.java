/** The way from nothing to a report of a load test. */
@NullMarked
package io.pipelane.bench.start;

import org.jspecify.annotations.NullMarked;
