package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The optimised graph without gates, its weights lying in the weights file as external data. */
public final class PackedGraph {
  private PackedGraph() {}

  /**
   * Builds the packed form of the model that a gated graph was cut from.
   *
   * @param file what was given to {@link GateCutter#cut}
   * @param weightsFile the name of the weights file, which lies beside the model
   */
  public static ModelProto of(ModelFile file, GatedGraph gated, String weightsFile) {
    Map<String, Weight> weights = new HashMap<>();
    gated.weights().forEach(weight -> weights.put(weight.name(), weight));
    Set<String> streamed = new HashSet<>(weights.keySet());
    GraphProto inlined = Constants.inline(file.graph(), streamed, file.folder());
    GraphProto.Builder graph = inlined.toBuilder().clearValueInfo().clearNode();
    for (NodeProto node : NodeOrder.of(inlined)) {
      graph.addNode(node);
    }
    for (int i = 0; i < graph.getInitializerCount(); i++) {
      Weight weight = weights.get(graph.getInitializer(i).getName());
      if (weight != null) {
        graph.setInitializer(i, external(weight, weightsFile));
      }
    }
    return file.model().toBuilder().setGraph(graph).build();
  }

  private static TensorProto external(Weight weight, String weightsFile) {
    TensorProto.Builder tensor =
        TensorProto.newBuilder()
            .setName(weight.name())
            .setDataType(weight.type().onnx())
            .setDataLocation(TensorProto.DataLocation.EXTERNAL)
            .addExternalData(entry("location", weightsFile))
            .addExternalData(entry("offset", Long.toString(weight.offset())))
            .addExternalData(entry("length", Long.toString(weight.byteSize())));
    for (long dimension : weight.shape().toArray()) {
      tensor.addDims(dimension);
    }
    return tensor.build();
  }

  private static StringStringEntryProto entry(String key, String value) {
    return StringStringEntryProto.newBuilder().setKey(key).setValue(value).build();
  }
}
