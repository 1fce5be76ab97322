/**
 * Editing of ONNX graphs: which constants are streamed, where gates are cut, and the proof that the
 * cut graph keeps its rules. Pure functions on protobufs; nothing here calls ONNX Runtime.
 */
@NullMarked
package io.pipelane.runtime.graph;

import org.jspecify.annotations.NullMarked;
