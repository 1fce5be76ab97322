package io.pipelane.bench.model;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;

/**
 * A small model with weights: square matrix products, one behind the other, of FP32 [1, width];
 * with state, of the sum of all inputs of a sequence.
 */
public final class ChainModel {
  /** Bytes of the weights of any one. */
  public static final long WEIGHT_BYTES = 8L * 512 * 512 * Float.BYTES;

  /** What a model's options say of its state. */
  public static final String STATE = "state:\n  sum: before\n";

  private static final int LAYERS = 8;
  private static final int WIDTH = 512;
  private static final int WIDTH_SQUARED = WIDTH * WIDTH;
  private static final long IR_VERSION = 8;
  private static final long OPERATOR_SET = 17;

  private ChainModel() {}

  /** Writes version 1 into a repository, its weights made from a seed. */
  public static void write(Path repository, String name, long seed) throws IOException {
    write(repository, name, chain(name, seed, "x"));
  }

  /** The same of a model that keeps {@link #STATE} between the requests of a sequence. */
  public static void writeWithState(Path repository, String name, long seed) throws IOException {
    GraphProto.Builder graph =
        chain(name, seed, "sum")
            .addInput(FloatRow.named("before", WIDTH))
            .addOutput(FloatRow.named("sum", WIDTH))
            .addNode(
                0,
                NodeProto.newBuilder()
                    .setOpType("Add")
                    .addInput("before")
                    .addInput("x")
                    .addOutput("sum"));
    write(repository, name, graph);
  }

  private static void write(Path repository, String name, GraphProto.Builder graph)
      throws IOException {
    Path file = repository.resolve(name).resolve("1").resolve("model.onnx");
    Files.createDirectories(file.getParent());
    if (!Files.exists(file)) {
      Files.write(file, model(graph).toByteArray());
    }
  }

  /** A request's inputs. */
  public static List<Tensor> inputs() {
    Random random = new Random(1);
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return List.of(Tensor.of("x", x, 1, WIDTH));
  }

  /** The products of a value that is there, and that may be the input "x". */
  private static GraphProto.Builder chain(String name, long seed, String first) {
    Random random = new Random(seed);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .setName(name)
            .addInput(FloatRow.named("x", WIDTH))
            .addOutput(FloatRow.named("y", WIDTH));
    for (int layer = 0; layer < LAYERS; layer++) {
      graph.addInitializer(weight("w" + layer, random));
      graph.addNode(
          NodeProto.newBuilder()
              .setOpType("MatMul")
              .addInput(layer == 0 ? first : "h" + layer)
              .addInput("w" + layer)
              .addOutput(layer == LAYERS - 1 ? "y" : "h" + (layer + 1)));
    }
    return graph;
  }

  private static ModelProto model(GraphProto.Builder graph) {
    return ModelProto.newBuilder()
        .setIrVersion(IR_VERSION)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setDomain("").setVersion(OPERATOR_SET))
        .setGraph(graph)
        .build();
  }

  private static TensorProto weight(String name, Random random) {
    ByteBuffer content =
        ByteBuffer.allocate(WIDTH_SQUARED * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < WIDTH_SQUARED; i++) {
      content.putFloat((float) (random.nextGaussian() / Math.sqrt(WIDTH)));
    }
    return TensorProto.newBuilder()
        .setName(name)
        .setDataType(TensorProto.DataType.FLOAT.getNumber())
        .addDims(WIDTH)
        .addDims(WIDTH)
        .setRawData(ByteString.copyFrom(content.flip()))
        .build();
  }
}
