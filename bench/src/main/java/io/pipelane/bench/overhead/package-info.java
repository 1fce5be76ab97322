/** The cost of an iteration in Pipelane beside a plain session of ONNX Runtime. */
@NullMarked
package io.pipelane.bench.overhead;

import org.jspecify.annotations.NullMarked;
