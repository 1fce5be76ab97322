/** The test whether a server that stands still looks it in the load generator's figures. */
@NullMarked
package io.pipelane.bench.stall;

import org.jspecify.annotations.NullMarked;
