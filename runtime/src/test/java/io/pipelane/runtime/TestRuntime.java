package io.pipelane.runtime;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** ONNX Runtime on a {@link HeapDevice}, and short ways to build and run small models on it. */
final class TestRuntime implements AutoCloseable {
  static final Path CACHE = Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test");

  final HeapDevice device = new HeapDevice();
  final OrtEnvironment environment =
      OrtEnvironment.open(OrtLibrary.locate(Optional.empty(), CACHE), device);
  private final Path folder;
  private int models;

  TestRuntime(Path folder) {
    this.folder = folder;
  }

  /** A session on the device's memory. */
  OrtSession open(ModelProto model) {
    return environment.open(write(model), SessionSettings.onDevice(1));
  }

  Path write(ModelProto model) {
    try {
      return TestModels.write(model, folder.resolve("model" + models++ + ".onnx"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs with one FP32 input {@code x}; gates pass. */
  List<float[]> run(OrtSession session, Shape shape, float... x) {
    return run(session, gate -> {}, shape, x);
  }

  /** Runs with one FP32 input {@code x}, all outputs FP32. */
  List<float[]> run(OrtSession session, GateListener listener, Shape shape, float... x) {
    try (Arena arena = Arena.ofConfined();
        IoBinding binding = session.newBinding()) {
      MemorySegment data = arena.allocate(Math.max(4L, 4L * x.length), 64);
      MemorySegment.copy(x, 0, data, ValueLayout.JAVA_FLOAT, 0, x.length);
      try (OrtTensor tensor =
          OrtTensor.over(environment, data.address(), 4L * x.length, TensorType.FP32, shape)) {
        binding.input("x", tensor);
      }
      session.outputs().forEach(output -> binding.output(output.name()));
      binding.run(listener);
      List<float[]> result = new ArrayList<>();
      for (OrtTensor output : binding.outputs()) {
        try (output) {
          result.add(output.data().toArray(ValueLayout.JAVA_FLOAT));
        }
      }
      return result;
    }
  }

  /** A gate node: output i is input i. */
  static NodeProto gate(int number, List<String> inputs, List<String> outputs) {
    return NodeProto.newBuilder()
        .setName("gate" + number)
        .setOpType(GateOperator.NAME)
        .setDomain(GateOperator.DOMAIN)
        .addAllInput(inputs)
        .addAllOutput(outputs)
        .addAttribute(
            AttributeProto.newBuilder()
                .setName(GateOperator.ATTRIBUTE)
                .setType(AttributeProto.AttributeType.INT)
                .setI(number))
        .build();
  }

  /** Wraps a graph that has gates. */
  static ModelProto gatedModel(GraphProto.Builder graph) {
    return TestModels.model(graph).toBuilder()
        .addOpsetImport(
            OperatorSetIdProto.newBuilder().setDomain(GateOperator.DOMAIN).setVersion(1))
        .build();
  }

  @Override
  public void close() {
    environment.close();
  }
}
