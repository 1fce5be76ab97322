/** The cost of worker processes' faults to the requests of a server. */
@NullMarked
package io.pipelane.bench.faults;

import org.jspecify.annotations.NullMarked;
