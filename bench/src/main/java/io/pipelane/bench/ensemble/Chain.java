package io.pipelane.bench.ensemble;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.AttributeProto.AttributeType;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.loadgen.zoo.graph.TensorTypes;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * An ensemble and what it is asked.
 *
 * @param name the ensemble's
 * @param betweenBytes of all tensors that one step makes and another takes
 */
record Chain(String name, List<Tensor> inputs, long betweenBytes) {
  private static final long IR_VERSION = 8;
  private static final long OPERATOR_SET = 17;
  private static final long SIDE = 640;
  private static final String DETECTED = "sigmoid_0.tmp_0";

  Chain {
    inputs = List.copyOf(inputs);
  }

  /** Writes three steps of one elementwise operator each, with so much between two of them. */
  static Chain steps(Path repository, int kibibytes) throws IOException {
    int width = kibibytes << 8;
    String name = "steps-" + kibibytes;
    List<String> operators = List.of("Abs", "Neg", "Relu");
    for (int step = 0; step < operators.size(); step++) {
      GraphProto.Builder graph =
          GraphProto.newBuilder()
              .addInput(TensorTypes.of("x", DataType.FLOAT, 1, width))
              .addOutput(TensorTypes.of("y", DataType.FLOAT, 1, width))
              .addNode(node(operators.get(step), "y", "x"));
      write(repository, name + "-" + step, graph);
    }
    declare(
        repository,
        name,
        """
            - {model: %1$s-0, inputs: {x: input}, outputs: {y: first}}
            - {model: %1$s-1, inputs: {x: first}, outputs: {y: second}}
            - {model: %1$s-2, inputs: {x: second}, outputs: {y: output}}
        """
            .formatted(name));
    float[] x = new float[width];
    for (int i = 0; i < width; i++) {
      x[i] = i % 251 - 125;
    }
    return new Chain(name, List.of(Tensor.of("input", x, 1, width)), 2L * width * Float.BYTES);
  }

  /** Writes steps around the demo's detector of text: from a picture's bytes to a mask. */
  static Chain picture(Path repository) throws IOException {
    String detector = DemoModel.PPOCR_DET.modelName();
    BenchCase.write(
        repository,
        BenchCase.all(repository).stream().filter(c -> c.model().equals(detector)).toList());
    write(
        repository,
        "picture-prepare",
        GraphProto.newBuilder()
            .addInput(TensorTypes.of("pixels", DataType.UINT8, 1, 3, SIDE, SIDE))
            .addInitializer(scalar("scale", 1 / 255f))
            .addNode(cast("numbers", "pixels", DataType.FLOAT))
            .addNode(node("Mul", "y", "numbers", "scale"))
            .addOutput(TensorTypes.of("y", DataType.FLOAT, 1, 3, SIDE, SIDE)));
    write(
        repository,
        "picture-mask",
        GraphProto.newBuilder()
            .addInput(TensorTypes.of("x", DataType.FLOAT, 1, 1, SIDE, SIDE))
            .addInitializer(scalar("threshold", 0.3f))
            .addNode(node("Greater", "is_text", "x", "threshold"))
            .addNode(cast("y", "is_text", DataType.UINT8))
            .addOutput(TensorTypes.of("y", DataType.UINT8, 1, 1, SIDE, SIDE)));
    declare(
        repository,
        "picture",
        """
            - {model: picture-prepare, inputs: {pixels: pixels}, outputs: {y: prepared}}
            - {model: %s, inputs: {x: prepared}, outputs: {%s: map}}
            - {model: picture-mask, inputs: {x: map}, outputs: {y: mask}}
        """
            .formatted(detector, DETECTED));
    ByteBuffer pixels = ByteBuffer.allocate((int) (3 * SIDE * SIDE));
    for (int i = 0; i < pixels.capacity(); i++) {
      pixels.put(i, (byte) (i * 31 % 251));
    }
    Tensor picture = new Tensor("pixels", TensorType.UINT8, Shape.of(1, 3, SIDE, SIDE), pixels);
    return new Chain("picture", List.of(picture), 4 * SIDE * SIDE * Float.BYTES);
  }

  private static void declare(Path repository, String name, String steps) throws IOException {
    Path folder = Files.createDirectories(repository.resolve(name));
    Files.writeString(folder.resolve("pipelane.yaml"), "ensemble:\n  steps:\n" + steps);
  }

  private static void write(Path repository, String name, GraphProto.Builder graph)
      throws IOException {
    Path file = repository.resolve(name).resolve("1").resolve("model.onnx");
    Files.createDirectories(file.getParent());
    if (!Files.exists(file)) {
      ModelProto.Builder model =
          ModelProto.newBuilder()
              .setIrVersion(IR_VERSION)
              .addOpsetImport(
                  OperatorSetIdProto.newBuilder().setDomain("").setVersion(OPERATOR_SET))
              .setGraph(graph.setName(name));
      Files.write(file, model.build().toByteArray());
    }
  }

  private static NodeProto.Builder node(String operator, String output, String... inputs) {
    return NodeProto.newBuilder()
        .setOpType(operator)
        .addAllInput(List.of(inputs))
        .addOutput(output);
  }

  private static NodeProto.Builder cast(String output, String input, DataType to) {
    return node("Cast", output, input)
        .addAttribute(
            AttributeProto.newBuilder()
                .setName("to")
                .setType(AttributeType.INT)
                .setI(to.getNumber()));
  }

  private static TensorProto scalar(String name, float value) {
    return TensorProto.newBuilder()
        .setName(name)
        .setDataType(DataType.FLOAT.getNumber())
        .addFloatData(value)
        .build();
  }
}
