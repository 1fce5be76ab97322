package io.pipelane.runtime;

import static io.pipelane.runtime.TestModels.WIDTH;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;

/**
 * A small model of a vision transformer's form: a convolution makes a vector of each patch of a
 * picture, and one more vector stands before them, as often as there are pictures.
 */
public final class PatchModel {
  private static final int CHANNELS = 3;
  private static final int PATCH = 4;
  private static final int PICTURE = 2 * PATCH;

  private PatchModel() {}

  /**
   * The model.
   *
   * @param layers products with a weight each, behind the convolution
   */
  public static ModelProto of(int layers, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32, -1, CHANNELS, PICTURE, PICTURE))
            .addInitializer(TestModels.weight("kernel", random, WIDTH, CHANNELS, PATCH, PATCH))
            .addInitializer(TestModels.weight("bias", random, WIDTH))
            .addInitializer(TestModels.weight("token", random, 1, 1, WIDTH))
            .addInitializer(indices("first", 0))
            .addInitializer(indices("rest", 1, WIDTH))
            .addInitializer(indices("flat", 0, WIDTH, -1))
            .addNode(TestModels.node("Shape", List.of("x"), "shape"))
            .addNode(TestModels.node("Gather", List.of("shape", "first"), "pictures"))
            .addNode(
                TestModels.node("Concat", List.of("pictures", "rest"), "wanted")
                    .addAttribute(TestModels.integer("axis", 0)))
            .addNode(TestModels.node("Expand", List.of("token", "wanted"), "tokens"))
            .addNode(
                TestModels.node("Conv", List.of("x", "kernel", "bias"), "convolved")
                    .addAttribute(integers("strides", PATCH, PATCH)))
            .addNode(TestModels.node("Reshape", List.of("convolved", "flat"), "columns"))
            .addNode(
                TestModels.node("Transpose", List.of("columns"), "patches")
                    .addAttribute(integers("perm", 0, 2, 1)))
            .addNode(
                TestModels.node("Concat", List.of("tokens", "patches"), "t0")
                    .addAttribute(TestModels.integer("axis", 1)));
    for (int i = 0; i < layers; i++) {
      String next = i == layers - 1 ? "y" : "t" + (i + 1);
      graph
          .addInitializer(TestModels.weight("w" + i, random, WIDTH, WIDTH))
          .addNode(TestModels.node("MatMul", List.of("t" + i, "w" + i), "m" + i))
          .addNode(TestModels.node("Tanh", List.of("m" + i), next));
    }
    int vectors = 1 + (PICTURE / PATCH) * (PICTURE / PATCH);
    return TestModels.model(
        graph.addOutput(TestModels.value("y", TensorType.FP32, -1, vectors, WIDTH)));
  }

  private static TensorProto indices(String name, long... numbers) {
    ByteBuffer bytes =
        ByteBuffer.allocate(numbers.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asLongBuffer().put(numbers);
    return TestModels.tensor(name, TensorType.INT64, ByteString.copyFrom(bytes), numbers.length);
  }

  private static AttributeProto integers(String name, long... numbers) {
    AttributeProto.Builder attribute =
        AttributeProto.newBuilder().setName(name).setType(AttributeProto.AttributeType.INTS);
    for (long number : numbers) {
      attribute.addInts(number);
    }
    return attribute.build();
  }
}
