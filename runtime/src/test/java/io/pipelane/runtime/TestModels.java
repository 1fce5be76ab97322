package io.pipelane.runtime;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.protobuf.ByteString;
import io.pipelane.runtime.graph.ValueShapes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;

/** Small ONNX models with random weights, each with one trait that execution must cope with. */
public final class TestModels {
  /** The width of every model whose builder takes none; input {@code x} is FP32 [batch, WIDTH]. */
  public static final int WIDTH = 32;

  private TestModels() {}

  /** {@code y = x}: no weights at all; FP32 [1,4]. */
  public static ModelProto identity() {
    return model(
        GraphProto.newBuilder()
            .addInput(value("x", TensorType.FP32, 1, 4))
            .addNode(node("Identity", List.of("x"), "y"))
            .addOutput(value("y", TensorType.FP32, 1, 4)));
  }

  /** A chain of {@code MatMul} and {@code Tanh}; {@code layers} weights of width × width. */
  public static ModelProto chain(int layers, int width, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph = GraphProto.newBuilder().addInput(batch("x", width));
    String last = "x";
    for (int i = 0; i < layers; i++) {
      graph.addInitializer(weight("w" + i, random, width, width));
      graph.addNode(node("MatMul", List.of(last, "w" + i), "m" + i));
      last = i == layers - 1 ? "y" : "t" + i;
      graph.addNode(node("Tanh", List.of("m" + i), last));
    }
    return model(graph.addOutput(batch("y", width)));
  }

  /**
   * A chain of layers and the way back through them, as a training step has it: the second half
   * reads each weight again, the last one first, and what the first half has computed.
   */
  public static ModelProto thereAndBack(int layers, int width, long seed) {
    GraphProto.Builder graph = chain(layers, width, seed).getGraph().toBuilder().clearOutput();
    String last = "t" + (layers - 1);
    graph.getNodeBuilder(graph.getNodeCount() - 1).setOutput(0, last);
    for (int i = layers - 1; i >= 0; i--) {
      graph.addNode(node("Transpose", List.of("w" + i), "v" + i));
      graph.addNode(node("MatMul", List.of(last, "v" + i), "b" + i));
      last = i == 0 ? "y" : "g" + i;
      graph.addNode(node("Mul", List.of("b" + i, i == 0 ? "x" : "t" + (i - 1)), last));
    }
    return model(graph.addOutput(batch(last, width)));
  }

  /**
   * One step of a sequence, {@code y = x w + s}, and {@code t} is the same: the state that the next
   * one takes as {@code s}.
   */
  public static ModelProto recurrent(int width) {
    return recurrent(width, 1);
  }

  /** The same with weights that follow from a seed. */
  public static ModelProto recurrent(int width, long seed) {
    return model(
        GraphProto.newBuilder()
            .addInput(batch("x", width))
            .addInput(batch("s", width))
            .addInitializer(weight("w", new Random(seed), width, width))
            .addNode(node("MatMul", List.of("x", "w"), "h"))
            .addNode(node("Add", List.of("h", "s"), "y"))
            .addNode(node("Identity", List.of("y"), "t"))
            .addOutput(batch("y", width))
            .addOutput(batch("t", width)));
  }

  /** Three branches of two layers, summed; the input is needed late as well. */
  public static ModelProto branches(long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph = GraphProto.newBuilder().addInput(batch("x", WIDTH));
    for (String branch : List.of("a", "b", "c")) {
      graph.addInitializer(weight("w1" + branch, random, WIDTH, WIDTH));
      graph.addInitializer(weight("w2" + branch, random, WIDTH, WIDTH));
      graph.addNode(node("MatMul", List.of("x", "w1" + branch), "h" + branch));
    }
    for (String branch : List.of("a", "b", "c")) {
      graph.addNode(node("Tanh", List.of("h" + branch), "t" + branch));
      graph.addNode(node("MatMul", List.of("t" + branch, "w2" + branch), "o" + branch));
    }
    graph.addNode(node("Sum", List.of("oa", "ob", "oc", "x"), "y"));
    return model(graph.addOutput(batch("y", WIDTH)));
  }

  /** Int8 weights, each behind a {@code DequantizeLinear} at the very beginning of the file. */
  public static ModelProto quantized(int layers, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph = GraphProto.newBuilder().addInput(batch("x", WIDTH));
    for (int i = 0; i < layers; i++) {
      graph.addInitializer(bytes("q" + i, TensorType.INT8, random, WIDTH, WIDTH));
      graph.addInitializer(numbers("s" + i, 0.01f));
      graph.addInitializer(tensor("z" + i, TensorType.INT8, ByteString.copyFrom(new byte[] {3})));
      graph.addNode(node("DequantizeLinear", List.of("q" + i, "s" + i, "z" + i), "w" + i));
    }
    return model(layers(graph, layers).addOutput(batch("y", WIDTH)));
  }

  /** Layers quantized at run time; no GPU kernel multiplies their unsigned integers. */
  public static ModelProto dynamicallyQuantized(int layers, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph = GraphProto.newBuilder().addInput(batch("x", WIDTH));
    String last = "x";
    for (int i = 0; i < layers; i++) {
      String next = i == layers - 1 ? "y" : "m" + i;
      graph.addInitializer(bytes("q" + i, TensorType.UINT8, random, WIDTH, WIDTH));
      graph.addInitializer(
          tensor("z" + i, TensorType.UINT8, ByteString.copyFrom(new byte[] {(byte) 128})));
      graph.addNode(
          node("DynamicQuantizeLinear", List.of(last), "a" + i)
              .addOutput("scale" + i)
              .addOutput("zero" + i));
      graph.addNode(node("MatMulInteger", List.of("a" + i, "q" + i, "zero" + i, "z" + i), "p" + i));
      graph.addNode(
          node("Cast", List.of("p" + i), "c" + i)
              .addAttribute(integer("to", TensorType.FP32.onnx())));
      graph.addNode(node("Mul", List.of("c" + i, "scale" + i), next));
      last = next;
    }
    return model(graph.addOutput(batch("y", WIDTH)));
  }

  /** Weights stored in half precision and cast to FP32 at the very beginning of the file. */
  public static ModelProto halfStored(int layers, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph = GraphProto.newBuilder().addInput(batch("x", WIDTH));
    for (int i = 0; i < layers; i++) {
      ByteBuffer half = ByteBuffer.allocate(2 * WIDTH * WIDTH).order(ByteOrder.LITTLE_ENDIAN);
      while (half.hasRemaining()) {
        half.putShort(Float.floatToFloat16((float) random.nextGaussian() / WIDTH));
      }
      graph.addInitializer(
          tensor("h" + i, TensorType.FP16, ByteString.copyFrom(half.flip()), WIDTH, WIDTH));
      graph.addNode(
          node("Cast", List.of("h" + i), "w" + i)
              .addAttribute(integer("to", TensorType.FP32.onnx())));
    }
    return model(layers(graph, layers).addOutput(batch("y", WIDTH)));
  }

  private static GraphProto.Builder layers(GraphProto.Builder graph, int layers) {
    return layers(graph, "x", layers);
  }

  private static GraphProto.Builder layers(GraphProto.Builder graph, String first, int layers) {
    String last = first;
    for (int i = 0; i < layers; i++) {
      String next = i == layers - 1 ? "y" : "m" + i;
      graph.addNode(node("MatMul", List.of(last, "w" + i), next));
      last = next;
    }
    return graph;
  }

  /** The first layer's weight is read again by the last one; the second layer has its own. */
  public static ModelProto sharedWeight(long seed) {
    Random random = new Random(seed);
    return model(
        GraphProto.newBuilder()
            .addInput(batch("x", WIDTH))
            .addInitializer(weight("w0", random, WIDTH, WIDTH))
            .addInitializer(weight("w1", random, WIDTH, WIDTH))
            .addNode(node("MatMul", List.of("x", "w0"), "a"))
            .addNode(node("MatMul", List.of("a", "w1"), "b"))
            .addNode(node("MatMul", List.of("b", "w0"), "y"))
            .addOutput(batch("y", WIDTH)));
  }

  /** A chain whose weights are {@code Constant} nodes and numbers of the protobuf. */
  public static ModelProto constantNodes(int layers, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph = GraphProto.newBuilder().addInput(batch("x", WIDTH));
    for (int i = 0; i < layers; i++) {
      TensorProto.Builder tensor =
          TensorProto.newBuilder()
              .setDataType(TensorType.FP32.onnx())
              .addDims(WIDTH)
              .addDims(WIDTH);
      for (int k = 0; k < WIDTH * WIDTH; k++) {
        tensor.addFloatData((float) random.nextGaussian() / WIDTH);
      }
      graph.addNode(
          node("Constant", List.of(), "w" + i)
              .addAttribute(
                  AttributeProto.newBuilder()
                      .setName("value")
                      .setType(AttributeProto.AttributeType.TENSOR)
                      .setT(tensor)));
    }
    return model(layers(graph, layers).addOutput(batch("y", WIDTH)));
  }

  /**
   * A chain with an {@code If} on an input {@code flag} (BOOL scalar) at its end; its bodies read
   * an early value, a weight of the outer graph and one of their own.
   */
  public static ModelProto conditional(long seed) {
    Random random = new Random(seed);
    GraphProto.Builder then =
        GraphProto.newBuilder()
            .setName("then")
            .addInitializer(weight("inner", random, WIDTH, WIDTH))
            .addNode(node("MatMul", List.of("early", "inner"), "then_m"))
            .addNode(node("MatMul", List.of("then_m", "outer"), "then_y"))
            .addOutput(batch("then_y", WIDTH));
    GraphProto.Builder otherwise =
        GraphProto.newBuilder()
            .setName("else")
            .addNode(node("Add", List.of("early", "late"), "else_y"))
            .addOutput(batch("else_y", WIDTH));
    return model(
        GraphProto.newBuilder()
            .addInput(batch("x", WIDTH))
            .addInput(value("flag", TensorType.BOOL))
            .addInitializer(weight("w0", random, WIDTH, WIDTH))
            .addInitializer(weight("w1", random, WIDTH, WIDTH))
            .addInitializer(weight("w2", random, WIDTH, WIDTH))
            .addInitializer(weight("outer", random, WIDTH, WIDTH))
            .addNode(node("MatMul", List.of("x", "w0"), "early"))
            .addNode(node("MatMul", List.of("early", "w1"), "late"))
            .addNode(
                node("If", List.of("flag"), "chosen")
                    .addAttribute(graph("then_branch", then))
                    .addAttribute(graph("else_branch", otherwise)))
            .addNode(node("MatMul", List.of("chosen", "w2"), "y"))
            .addOutput(batch("y", WIDTH)));
  }

  /** A chain of four layers whose second value is an output of the graph too. */
  public static ModelProto middleOutput(long seed) {
    ModelProto chain = chain(4, WIDTH, seed);
    return chain.toBuilder()
        .setGraph(chain.getGraph().toBuilder().addOutput(batch("t1", WIDTH)))
        .build();
  }

  /** Two unconnected chains: the second one's layers depend on nothing of the first. */
  public static ModelProto islands(long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph = GraphProto.newBuilder();
    for (String island : List.of("a", "b")) {
      graph.addInput(batch("x" + island, WIDTH));
      graph.addInitializer(weight("w0" + island, random, WIDTH, WIDTH));
      graph.addInitializer(weight("w1" + island, random, WIDTH, WIDTH));
      graph.addNode(node("MatMul", List.of("x" + island, "w0" + island), "m" + island));
      graph.addNode(node("MatMul", List.of("m" + island, "w1" + island), "y" + island));
      graph.addOutput(batch("y" + island, WIDTH));
    }
    return model(graph);
  }

  /**
   * Layers behind the mean of some rows of {@code table}, 512 of them, which are told by the input.
   */
  public static ModelProto embedding(int layers, long seed) {
    return embedding(layers, 512, seed);
  }

  /** The same with so many rows; at least 512. */
  public static ModelProto embedding(int layers, int rows, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(batch("x", WIDTH))
            .addInitializer(numbers("fifty", 50))
            .addInitializer(weight("table", random, rows, WIDTH))
            .addNode(node("Mul", List.of("x", "fifty"), "scaled"))
            .addNode(
                node("Cast", List.of("scaled"), "rows")
                    .addAttribute(integer("to", TensorType.INT64.onnx())))
            .addNode(node("Gather", List.of("table", "rows"), "taken"))
            .addInitializer(index("axis", 1))
            .addNode(
                node("ReduceSum", List.of("taken", "axis"), "x0")
                    .addAttribute(integer("keepdims", 0)));
    for (int i = 0; i < layers; i++) {
      graph.addInitializer(weight("w" + i, random, WIDTH, WIDTH));
    }
    return model(layers(graph, "x0", layers).addOutput(batch("y", WIDTH)));
  }

  /** Layers with a bias that each reshape to a shape computed from the input's: {@code wanted}. */
  public static ModelProto reshaped(int layers, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(batch("x", WIDTH))
            .addInitializer(index("first", 0))
            .addInitializer(index("rest", WIDTH))
            .addNode(node("Shape", List.of("x"), "shape"))
            .addNode(node("Gather", List.of("shape", "first"), "rows"))
            .addNode(
                node("Concat", List.of("rows", "rest"), "wanted").addAttribute(integer("axis", 0)));
    String last = "x";
    for (int i = 0; i < layers; i++) {
      String next = i == layers - 1 ? "y" : "r" + i;
      graph.addInitializer(weight("w" + i, random, WIDTH, WIDTH));
      graph.addInitializer(weight("b" + i, random, WIDTH));
      graph.addNode(node("MatMul", List.of(last, "w" + i), "m" + i));
      graph.addNode(node("Add", List.of("m" + i, "b" + i), "a" + i));
      graph.addNode(node("Reshape", List.of("a" + i, "wanted"), next));
      last = next;
    }
    return model(graph.addOutput(batch("y", WIDTH)));
  }

  /**
   * Nodes that read what any nodes before them have produced, some of them a weight as well; what
   * nobody reads is an answer, and so are some other values.
   */
  public static ModelProto random(int nodes, Random random) {
    GraphProto.Builder graph = GraphProto.newBuilder().addInput(batch("x", WIDTH));
    List<String> values = new ArrayList<>(List.of("x"));
    Set<String> unread = new LinkedHashSet<>();
    for (int k = 0; k < nodes; k++) {
      String name = "v" + k;
      String first = values.get(random.nextInt(values.size()));
      String second = values.get(Math.max(0, values.size() - 1 - random.nextInt(3)));
      switch (random.nextInt(4)) {
        case 0 -> {
          graph.addInitializer(weight("w" + k, random, WIDTH, WIDTH));
          graph.addNode(node("MatMul", List.of(second, "w" + k), name));
          unread.remove(second);
        }
        case 1 -> {
          graph.addNode(node("Tanh", List.of(first), name));
          unread.remove(first);
        }
        default -> {
          graph.addNode(node("Sub", List.of(first, second), name));
          unread.removeAll(List.of(first, second));
        }
      }
      values.add(name);
      unread.add(name);
      if (random.nextInt(8) == 0) {
        graph.addOutput(batch(name, WIDTH));
        unread.remove(name);
      }
    }
    Set<String> answered = new HashSet<>();
    graph.getOutputList().forEach(output -> answered.add(output.getName()));
    unread.stream()
        .filter(name -> !answered.contains(name))
        .forEach(name -> graph.addOutput(batch(name, WIDTH)));
    return model(graph);
  }

  /** Shapes of a model's values as if each were so large that it took a second to write. */
  public static ValueShapes enormous(ModelProto model) {
    List<TensorSpec> outputs =
        model.getGraph().getNodeList().stream()
            .flatMap(node -> node.getOutputList().stream())
            .map(name -> new TensorSpec(name, TensorType.FP32, Shape.of(1L << 30, 2)))
            .toList();
    return ValueShapes.of(List.of(), outputs, Map.of());
  }

  private static TensorProto index(String name, long index) {
    return TensorProto.newBuilder()
        .setName(name)
        .setDataType(TensorType.INT64.onnx())
        .addDims(1)
        .addInt64Data(index)
        .build();
  }

  /** Writes a model, making its folder first. */
  public static Path write(ModelProto model, Path file) throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    return Files.write(file, model.toByteArray());
  }

  /** Wraps a graph in a model of opset 17. */
  public static ModelProto model(GraphProto.Builder graph) {
    return ModelProto.newBuilder()
        .setIrVersion(8)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setDomain("").setVersion(17))
        .setGraph(graph.getName().isEmpty() ? graph.setName("test") : graph)
        .build();
  }

  public static NodeProto.Builder node(String operator, List<String> inputs, String output) {
    return NodeProto.newBuilder()
        .setName(operator + "_" + output)
        .setOpType(operator)
        .addAllInput(inputs)
        .addOutput(output);
  }

  /** Declares an FP32 value of {@code [batch, width]}, the first dimension open. */
  public static ValueInfoProto batch(String name, int width) {
    return value(name, TensorType.FP32, -1, width);
  }

  /** Declares a value; -1 stands for an open dimension, named {@code batch}. */
  public static ValueInfoProto value(String name, TensorType type, long... dimensions) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    for (long dimension : dimensions) {
      TensorShapeProto.Dimension.Builder entry = shape.addDimBuilder();
      if (dimension < 0) {
        entry.setDimParam("batch");
      } else {
        entry.setDimValue(dimension);
      }
    }
    return value(name, type, shape);
  }

  static ValueInfoProto value(String name, TensorType type, TensorShapeProto.Builder shape) {
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder().setElemType(type.onnx()).setShape(shape)))
        .build();
  }

  /** An FP32 initializer of normal random numbers, scaled so that chains neither grow nor fade. */
  public static TensorProto weight(String name, Random random, long... dimensions) {
    float[] numbers = new float[(int) LongStream.of(dimensions).reduce(1, (a, b) -> a * b)];
    float scale = (float) Math.sqrt(1.0 / dimensions[0]);
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = scale * (float) random.nextGaussian();
    }
    return tensor(name, TensorType.FP32, floats(numbers), dimensions);
  }

  /** An initializer of raw bytes. */
  public static TensorProto tensor(
      String name, TensorType type, ByteString content, long... dimensions) {
    TensorProto.Builder tensor =
        TensorProto.newBuilder().setName(name).setDataType(type.onnx()).setRawData(content);
    LongStream.of(dimensions).forEach(tensor::addDims);
    return tensor.build();
  }

  private static TensorProto numbers(String name, float number) {
    return tensor(name, TensorType.FP32, floats(number));
  }

  private static TensorProto bytes(
      String name, TensorType type, Random random, long... dimensions) {
    byte[] content = new byte[(int) LongStream.of(dimensions).reduce(1, (a, b) -> a * b)];
    random.nextBytes(content);
    return tensor(name, type, ByteString.copyFrom(content), dimensions);
  }

  private static ByteString floats(float... numbers) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float number : numbers) {
      bytes.putFloat(number);
    }
    return ByteString.copyFrom(bytes.flip());
  }

  /** An integer attribute. */
  public static AttributeProto integer(String name, long number) {
    return AttributeProto.newBuilder()
        .setName(name)
        .setType(AttributeProto.AttributeType.INT)
        .setI(number)
        .build();
  }

  /** An attribute that is a graph of its own. */
  public static AttributeProto graph(String name, GraphProto.Builder graph) {
    return AttributeProto.newBuilder()
        .setName(name)
        .setType(AttributeProto.AttributeType.GRAPH)
        .setG(graph)
        .build();
  }
}
