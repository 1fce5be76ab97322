package io.pipelane.bench.model;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** One model under several names, whose copies have last weights of their own, as if fine-tuned. */
public final class ModelVersions {
  /** Smaller constants are no weights. */
  private static final int LEAST_BYTES = 16 << 10;

  private ModelVersions() {}

  /** Writes {@code <name>-1}, which is the model itself, to {@code <name>-count}; the names. */
  public static List<String> write(Path repository, Path file, String name, int count)
      throws IOException {
    List<String> names = ModelCopies.write(repository, file, name, count);
    ModelProto model = ModelProto.parseFrom(Files.readAllBytes(file));
    for (String other : names.subList(1, count)) {
      ModelProto.Builder version = model.toBuilder();
      tune(lastWeights(version.getGraphBuilder()), other.hashCode());
      Path target = repository.resolve(other).resolve("1").resolve("model.onnx");
      Files.delete(target); // A link to the model itself.
      Files.write(target, version.build().toByteArray());
    }
    return names;
  }

  /** What the last node reads that reads a large constant, which may be a node of its own. */
  private static TensorProto.Builder lastWeights(GraphProto.Builder graph) throws IOException {
    Map<String, TensorProto.Builder> constants = new HashMap<>();
    graph
        .getInitializerBuilderList()
        .forEach(initializer -> constants.put(initializer.getName(), initializer));
    for (NodeProto.Builder node : graph.getNodeBuilderList()) {
      if (node.getOpType().equals("Constant")) {
        constants.put(node.getOutput(0), node.getAttributeBuilder(0).getTBuilder());
      }
    }
    for (NodeProto node : graph.getNodeList().reversed()) {
      for (String input : node.getInputList()) {
        TensorProto.@Nullable Builder weights = constants.get(input);
        if (weights != null && byteSize(weights) >= LEAST_BYTES) {
          return weights;
        }
      }
    }
    throw new IOException("no weights that could be changed are in " + graph.getName());
  }

  private static int byteSize(TensorProto.Builder weights) {
    return weights.getRawData().size() + weights.getFloatDataCount() * Float.BYTES;
  }

  /** Changes the lowest bits of some values, which hardly changes what is computed. */
  private static void tune(TensorProto.Builder weights, int seed) {
    Random random = new Random(seed);
    for (int i = 0; i < weights.getFloatDataCount(); i++) {
      int bits = Float.floatToRawIntBits(weights.getFloatData(i));
      weights.setFloatData(i, Float.intBitsToFloat(bits ^ random.nextInt(2)));
    }
    byte[] content = weights.getRawData().toByteArray();
    for (int i = 0; i < content.length; i += Float.BYTES) {
      content[i] ^= (byte) random.nextInt(2);
    }
    if (content.length > 0) {
      weights.setRawData(ByteString.copyFrom(content));
    }
  }
}
