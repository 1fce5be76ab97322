package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.content.Constants;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.TensorContent;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The shapes of a graph's values, open dimensions having got sizes. What is not known is left out.
 *
 * <p>Optimised graphs come without shapes. A session of {@link #question} infers them: the values
 * are its outputs.
 *
 * @param specs by name
 * @param smallShare the part of a run of these shapes that one with small inputs takes, at most 1
 */
public record ValueShapes(Map<String, TensorSpec> specs, double smallShare) {
  /** Nothing is known: each node takes as long as any other. */
  public static final ValueShapes UNKNOWN = new ValueShapes(Map.of(), 1);

  public ValueShapes {
    specs = Map.copyOf(specs);
  }

  /**
   * What a session has inferred.
   *
   * @param outputs of a session of {@link #question}
   */
  public static ValueShapes of(
      List<TensorSpec> inputs, List<TensorSpec> outputs, Map<String, TensorProto> weights) {
    Map<String, TensorSpec> specs = new HashMap<>();
    weights
        .values()
        .forEach(
            tensor ->
                specs.put(
                    tensor.getName(),
                    new TensorSpec(
                        tensor.getName(),
                        TensorType.ofOnnx(tensor.getDataType()),
                        TensorContent.shape(tensor))));
    inputs.forEach(spec -> specs.put(spec.name(), spec));
    outputs.forEach(spec -> specs.put(spec.name(), spec));
    specs.values().removeIf(spec -> !spec.shape().isConcrete());
    return new ValueShapes(specs, 1);
  }

  /** The same where runs with small inputs take so much less. */
  public ValueShapes withSmallShare(double share) {
    return new ValueShapes(specs, share);
  }

  /** A value's shape, where it is known. */
  Optional<Shape> of(String name) {
    return Optional.ofNullable(specs.get(name)).map(TensorSpec::shape);
  }

  /** How many elements a value has; 0 where it is not known. */
  double elements(String name) {
    double product = of(name).isPresent() ? 1 : 0;
    for (long dimension : of(name).map(Shape::toArray).orElse(new long[0])) {
      product *= dimension;
    }
    return product;
  }

  /** The bytes of a value; 0 where they are not known. */
  double bytes(String name) {
    TensorSpec spec = specs.get(name);
    return spec == null ? 0 : elements(name) * spec.type().byteWidth();
  }

  /**
   * A model that answers every value of a graph and is never run. Weights are inputs, so that
   * nothing is loaded.
   *
   * @param sizes what open dimensions of inputs become
   */
  public static ModelProto question(
      ModelFile file, Map<String, TensorProto> weights, AssumedSizes sizes) {
    GraphProto graph = file.graph();
    Constants.checkInlineSum(graph, weights.keySet(), file.folder());
    GraphProto.Builder edited =
        Constants.inline(WeightInputs.without(graph, weights), Set.of(), file.folder()).toBuilder()
            .clearValueInfo()
            .clearInput()
            .clearOutput();
    graph.getInputList().forEach(input -> edited.addInput(sized(input, sizes)));
    weights.values().forEach(tensor -> edited.addInput(WeightInputs.declaration(tensor)));
    for (NodeProto node : graph.getNodeList()) {
      edited.addNode(Constants.inline(node, file.folder()));
    }
    values(graph).forEach(name -> edited.addOutput(ValueInfoProto.newBuilder().setName(name)));
    return file.model().toBuilder().clearMetadataProps().setGraph(edited).build();
  }

  /** Names of what nodes produce, as far as it is known to be tensors of numbers. */
  private static Set<String> values(GraphProto graph) {
    List<NodeProto> order = NodeOrder.of(graph);
    ElementTypes types = ElementTypes.of(graph, order);
    Set<String> names = new LinkedHashSet<>();
    for (NodeProto node : order) {
      for (String name : node.getOutputList()) {
        OptionalInt type = types.of(name);
        if (type.isPresent() && TensorType.isNumber(type.getAsInt())) {
          names.add(name);
        }
      }
    }
    names.removeAll(Liveness.impassable(graph, order));
    return names;
  }

  private static ValueInfoProto sized(ValueInfoProto input, AssumedSizes sizes) {
    if (!input.getType().getTensorType().hasShape()) {
      return input;
    }
    ValueInfoProto.Builder sized = input.toBuilder();
    TensorShapeProto.Builder shape =
        sized.getTypeBuilder().getTensorTypeBuilder().getShapeBuilder();
    for (int i = 0; i < shape.getDimCount(); i++) {
      if (shape.getDim(i).getDimValue() <= 0) {
        long size = sizes.of(i, shape.getDimCount());
        shape.setDim(i, TensorShapeProto.Dimension.newBuilder().setDimValue(size));
      }
    }
    return sized.build();
  }
}
