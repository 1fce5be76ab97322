package io.pipelane.runtime.graph.content;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;

/** The bytes of memory that the constants inside a graph take. */
public final class ConstantBytes {
  private ConstantBytes() {}

  /** Bytes of all constants in a graph and its bodies; of external ones only the declarations. */
  public static long of(GraphProto graph) {
    long bytes = 0;
    for (TensorProto tensor : graph.getInitializerList()) {
      bytes += of(tensor);
    }
    for (NodeProto node : graph.getNodeList()) {
      for (AttributeProto attribute : node.getAttributeList()) {
        bytes += of(attribute.getT());
      }
      for (GraphProto body : Scopes.bodies(node)) {
        bytes += of(body);
      }
    }
    return bytes;
  }

  /** At least its bytes: numbers that protobuf packs are counted as it stores them. */
  private static long of(TensorProto tensor) {
    return tensor.hasRawData() ? tensor.getRawData().size() : tensor.getSerializedSize();
  }
}
