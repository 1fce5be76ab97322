/**
 * ONNX Runtime's C API through {@code java.lang.foreign}: sessions, IO binding, allocators, the
 * gate operator; and calls of C functions at all.
 */
@NullMarked
package io.pipelane.runtime;

import org.jspecify.annotations.NullMarked;
