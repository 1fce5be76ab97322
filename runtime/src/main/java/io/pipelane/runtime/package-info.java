/**
 * ONNX Runtime's C API through {@code java.lang.foreign}: sessions, IO binding, allocators, the
 * gate operator.
 */
@NullMarked
package io.pipelane.runtime;

import org.jspecify.annotations.NullMarked;
