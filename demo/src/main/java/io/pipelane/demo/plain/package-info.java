/** The same requests through a plain ONNX Runtime session, for comparison. */
@NullMarked
package io.pipelane.demo.plain;

import org.jspecify.annotations.NullMarked;
