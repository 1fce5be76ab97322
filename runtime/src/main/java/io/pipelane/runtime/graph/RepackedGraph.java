package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A gated graph some of whose weights are initializers again, so that kernels repack them. */
public final class RepackedGraph {
  /** The input that an operator's kernel on the processor repacks, and then never reads again. */
  private static final Map<String, Integer> REPACKED_INPUT =
      Map.of(
          "MatMul", 1,
          "FusedMatMul", 1,
          "Gemm", 1,
          "FusedGemm", 1,
          "MatMulInteger", 1,
          "MatMulIntegerToFloat", 1,
          "DynamicQuantizeMatMul", 1,
          "Attention", 1,
          "QAttention", 1);

  private RepackedGraph() {}

  /**
   * The weights that may be repacked, in their order: those with one reader, of the right kind. A
   * graph with bodies has none, because the constants of bodies are loaded after its own.
   */
  public static List<Weight> candidates(GatedGraph gated) {
    Set<String> repackable = new HashSet<>();
    Map<String, Integer> readers = new HashMap<>();
    for (NodeProto node : gated.model().getGraph().getNodeList()) {
      if (!Scopes.bodies(node).isEmpty()) {
        return List.of();
      }
      node.getInputList().forEach(name -> readers.merge(name, 1, Integer::sum));
      int input = REPACKED_INPUT.getOrDefault(node.getOpType(), Integer.MAX_VALUE);
      if (input < node.getInputCount()) {
        repackable.add(node.getInput(input));
      }
    }
    return gated.weights().stream()
        .filter(weight -> repackable.contains(weight.name()))
        .filter(weight -> readers.getOrDefault(weight.name(), 0) == 1)
        .toList();
  }

  /**
   * The graph with these weights being initializers; their values are given when a session is
   * built.
   *
   * @param file one that exists beside the model, which ONNX Runtime asks for and never reads
   */
  public static ModelProto of(GatedGraph gated, List<Weight> repacked, String file) {
    Set<String> names = new HashSet<>();
    repacked.forEach(weight -> names.add(weight.name()));
    GraphProto.Builder graph = gated.model().getGraph().toBuilder().clearInput();
    gated.model().getGraph().getInputList().stream()
        .filter(input -> !names.contains(input.getName()))
        .forEach(graph::addInput);
    repacked.forEach(weight -> graph.addInitializer(declaration(weight, file)));
    return gated.model().toBuilder().setGraph(graph).build();
  }

  private static TensorProto declaration(Weight weight, String file) {
    TensorProto.Builder tensor =
        TensorProto.newBuilder()
            .setName(weight.name())
            .setDataType(weight.type().onnx())
            .setDataLocation(TensorProto.DataLocation.EXTERNAL)
            .addExternalData(StringStringEntryProto.newBuilder().setKey("location").setValue(file));
    for (long dimension : weight.shape().toArray()) {
      tensor.addDims(dimension);
    }
    return tensor.build();
  }
}
