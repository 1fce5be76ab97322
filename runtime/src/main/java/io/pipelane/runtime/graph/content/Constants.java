package io.pipelane.runtime.graph.content;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.FunctionProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.SparseTensorProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TrainingInfoProto;
import com.google.protobuf.ByteString;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;

/** The constants of a model, brought into one form: initializers, their bytes as raw data. */
public final class Constants {
  /** What one constant that stays in a graph may take. */
  private static final long MAXIMUM_INLINE_BYTES = 1L << 30;

  /** What all of them may take together: a message of protobuf, less the graph's own size. */
  private static final long MAXIMUM_INLINE_SUM = ModelFile.MAXIMUM_BYTES - (64L << 20);

  private Constants() {}

  /**
   * Turns {@code Constant} nodes into initializers; bodies keep theirs, each once. In models older
   * than IR version 4, where each initializer is listed as an input as well without being one,
   * those inputs are dropped.
   */
  public static ModelFile toInitializers(ModelFile file) {
    GraphProto graph = file.graph();
    GraphProto.Builder edited = graph.toBuilder().clearNode();
    for (NodeProto node : graph.getNodeList()) {
      Optional<TensorProto> value = value(node);
      value.ifPresentOrElse(
          edited::addInitializer, () -> edited.addNode(WrittenBodies.withoutDoubles(node)));
    }
    if (file.model().getIrVersion() >= 4) {
      return file.with(edited.build());
    }
    Set<String> constants = Scopes.constants(edited.build());
    edited.clearInput();
    graph.getInputList().stream()
        .filter(input -> !constants.contains(input.getName()))
        .forEach(edited::addInput);
    return new ModelFile(
        file.model().toBuilder().setIrVersion(4).setGraph(edited).build(), file.folder());
  }

  private static Optional<TensorProto> value(NodeProto node) {
    if (!node.getOpType().equals("Constant")
        || !node.getDomain().isEmpty()
        || node.getAttributeCount() != 1
        || node.getOutputCount() != 1) {
      return Optional.empty();
    }
    AttributeProto attribute = node.getAttribute(0);
    TensorProto.Builder tensor = TensorProto.newBuilder();
    switch (attribute.getName()) {
      case "value" -> tensor.mergeFrom(attribute.getT());
      case "value_float" ->
          tensor.setDataType(TensorType.FP32.onnx()).addFloatData(attribute.getF());
      case "value_floats" ->
          tensor
              .setDataType(TensorType.FP32.onnx())
              .addAllFloatData(attribute.getFloatsList())
              .addDims(attribute.getFloatsCount());
      case "value_int" ->
          tensor.setDataType(TensorType.INT64.onnx()).addInt64Data(attribute.getI());
      case "value_ints" ->
          tensor
              .setDataType(TensorType.INT64.onnx())
              .addAllInt64Data(attribute.getIntsList())
              .addDims(attribute.getIntsCount());
      default -> {
        return Optional.empty();
      }
    }
    return Optional.of(tensor.setName(node.getOutput(0)).build());
  }

  /**
   * Checks every reference to external data, in bodies and the model's own functions as well.
   *
   * @return the files that hold it
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for one that leaves the model's folder
   *     or its file
   */
  public static Set<Path> externalFiles(ModelFile file) {
    Set<Path> files = new LinkedHashSet<>();
    Path folder = file.folder();
    collectExternal(file.graph(), folder, files);
    for (FunctionProto function : file.model().getFunctionsList()) {
      function.getNodeList().forEach(node -> collectExternal(node, folder, files));
      function.getAttributeProtoList().forEach(value -> collectExternal(value, folder, files));
    }
    for (TrainingInfoProto training : file.model().getTrainingInfoList()) {
      collectExternal(training.getInitialization(), folder, files);
      collectExternal(training.getAlgorithm(), folder, files);
    }
    return files;
  }

  private static void collectExternal(GraphProto graph, Path folder, Set<Path> files) {
    graph.getInitializerList().forEach(tensor -> collectExternal(tensor, folder, files));
    graph.getSparseInitializerList().forEach(sparse -> collectExternal(sparse, folder, files));
    graph.getNodeList().forEach(node -> collectExternal(node, folder, files));
  }

  private static void collectExternal(NodeProto node, Path folder, Set<Path> files) {
    node.getAttributeList().forEach(attribute -> collectExternal(attribute, folder, files));
  }

  /** Looks at every field, whichever of them the attribute's type says is the one that counts. */
  private static void collectExternal(AttributeProto attribute, Path folder, Set<Path> files) {
    collectExternal(attribute.getT(), folder, files);
    attribute.getTensorsList().forEach(tensor -> collectExternal(tensor, folder, files));
    collectExternal(attribute.getSparseTensor(), folder, files);
    attribute.getSparseTensorsList().forEach(sparse -> collectExternal(sparse, folder, files));
    collectExternal(attribute.getG(), folder, files);
    attribute.getGraphsList().forEach(body -> collectExternal(body, folder, files));
  }

  private static void collectExternal(SparseTensorProto sparse, Path folder, Set<Path> files) {
    collectExternal(sparse.getValues(), folder, files);
    collectExternal(sparse.getIndices(), folder, files);
  }

  private static void collectExternal(TensorProto tensor, Path folder, Set<Path> files) {
    if (isExternal(tensor)) {
      files.add(ExternalData.of(tensor, folder).file());
    }
  }

  /**
   * Brings external data into the model, so that it can be stored elsewhere on its own.
   *
   * @param except initializers of the graph itself that are left as they are
   * @param folder what external data is relative to
   */
  public static GraphProto inline(GraphProto graph, Set<String> except, Path folder) {
    GraphProto.Builder edited = graph.toBuilder().clearInitializer();
    for (TensorProto tensor : graph.getInitializerList()) {
      edited.addInitializer(except.contains(tensor.getName()) ? tensor : inline(tensor, folder));
    }
    for (int i = 0; i < graph.getNodeCount(); i++) {
      edited.setNode(i, inline(graph.getNode(i), folder));
    }
    return edited.build();
  }

  /**
   * Checks, before any of it is read, that what {@link #inline} brings into a graph has room there.
   *
   * @param except initializers of the graph itself that do not come into it
   * @throws StatusException {@link Status#TOO_LARGE} where it has none
   */
  public static void checkInlineSum(GraphProto graph, Set<String> except, Path folder) {
    long bytes = externalBytes(graph, except, folder);
    if (bytes > MAXIMUM_INLINE_SUM) {
      throw new StatusException(
          Status.TOO_LARGE,
          ("constants that cannot be streamed have %d bytes together, most of them read inside If,"
                  + " Loop or Scan; a graph holds at most %d")
              .formatted(bytes, MAXIMUM_INLINE_SUM));
    }
  }

  private static long externalBytes(GraphProto graph, Set<String> except, Path folder) {
    long bytes = 0;
    for (TensorProto tensor : graph.getInitializerList()) {
      bytes += except.contains(tensor.getName()) ? 0 : externalBytes(tensor, folder);
    }
    for (NodeProto node : graph.getNodeList()) {
      for (AttributeProto attribute : node.getAttributeList()) {
        bytes += externalBytes(attribute.getT(), folder);
        bytes += externalBytes(attribute.getG(), Set.of(), folder);
        for (GraphProto body : attribute.getGraphsList()) {
          bytes += externalBytes(body, Set.of(), folder);
        }
      }
    }
    return bytes;
  }

  private static long externalBytes(TensorProto tensor, Path folder) {
    return isExternal(tensor) ? ExternalData.of(tensor, folder).byteSize() : 0;
  }

  private static boolean holdsTensors(AttributeProto attribute) {
    return attribute.hasT() || attribute.hasG() || attribute.getGraphsCount() > 0;
  }

  /** The same for what a node's attributes hold. */
  public static NodeProto inline(NodeProto node, Path folder) {
    if (node.getAttributeList().stream().noneMatch(Constants::holdsTensors)) {
      return node;
    }
    NodeProto.Builder edited = node.toBuilder();
    for (AttributeProto.Builder attribute : edited.getAttributeBuilderList()) {
      if (attribute.hasT()) {
        attribute.setT(inline(attribute.getT(), folder));
      }
      if (attribute.hasG()) {
        attribute.setG(inline(attribute.getG(), Set.of(), folder));
      }
      for (int i = 0; i < attribute.getGraphsCount(); i++) {
        attribute.setGraphs(i, inline(attribute.getGraphs(i), Set.of(), folder));
      }
    }
    return edited.build();
  }

  private static TensorProto inline(TensorProto tensor, Path folder) {
    if (!isExternal(tensor)) {
      return tensor;
    }
    ExternalData data = ExternalData.of(tensor, folder);
    if (data.byteSize() > MAXIMUM_INLINE_BYTES) {
      throw new StatusException(
          Status.TOO_LARGE,
          "constant \"%s\" of %d bytes cannot be streamed, and a graph holds at most %d"
              .formatted(tensor.getName(), data.byteSize(), MAXIMUM_INLINE_BYTES));
    }
    ByteString.Output bytes = ByteString.newOutput((int) data.byteSize());
    try {
      data.content().writeTo(Channels.newChannel(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return tensor.toBuilder()
        .clearDataLocation()
        .clearExternalData()
        .setRawData(bytes.toByteString())
        .build();
  }

  private static boolean isExternal(TensorProto tensor) {
    return tensor.getDataLocation() == TensorProto.DataLocation.EXTERNAL;
  }
}
