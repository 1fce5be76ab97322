package io.pipelane.runtime;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;

/** Models as exporters write them that know types and no shapes. */
public final class UnshapedModels {
  private UnshapedModels() {}

  /** A model without the shapes of its inputs and outputs. */
  public static ModelProto of(ModelProto model) {
    GraphProto.Builder graph = model.getGraph().toBuilder();
    graph
        .getInputBuilderList()
        .forEach(input -> input.getTypeBuilder().getTensorTypeBuilder().clearShape());
    graph
        .getOutputBuilderList()
        .forEach(output -> output.getTypeBuilder().getTensorTypeBuilder().clearShape());
    return model.toBuilder().setGraph(graph).build();
  }
}
