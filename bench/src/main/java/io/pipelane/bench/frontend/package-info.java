/** The cost of the front ends, beside servers that do nothing else and ONNX Runtime alone. */
@NullMarked
package io.pipelane.bench.frontend;

import org.jspecify.annotations.NullMarked;
