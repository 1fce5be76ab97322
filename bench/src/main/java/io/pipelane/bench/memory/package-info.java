/** Device memory by kind, over time, and copies beside the inferences that wait for them. */
@NullMarked
package io.pipelane.bench.memory;

import org.jspecify.annotations.NullMarked;
