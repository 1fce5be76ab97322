/** Plain ONNX Runtime sessions, asked the same requests for comparison. */
@NullMarked
package io.pipelane.demo.plain;

import org.jspecify.annotations.NullMarked;
