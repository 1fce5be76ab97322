/** Gated execution beside a plain ONNX Runtime session. */
@NullMarked
package io.pipelane.bench.forms;

import org.jspecify.annotations.NullMarked;
