package io.pipelane.bench.model;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A model that does nothing: one Identity over FP32 [1,4]. What it costs is all overhead. */
public final class NoopModel {
  /** What it is registered as. */
  public static final String NAME = "noop";

  private static final int WIDTH = 4;
  private static final long IR_VERSION = 8;
  private static final long OPERATOR_SET = 17;

  private NoopModel() {}

  /** Writes version 1 into a repository. */
  public static void write(Path repository) throws IOException {
    Path file = file(repository);
    Files.createDirectories(file.getParent());
    byte[] bytes = model().toByteArray();
    if (!Files.exists(file) || Files.size(file) != bytes.length) {
      Files.write(file, bytes);
    }
  }

  /** Where version 1 lies in a repository. */
  public static Path file(Path repository) {
    return repository.resolve(NAME).resolve("1").resolve("model.onnx");
  }

  /** A request's inputs. */
  public static List<Tensor> inputs() {
    return List.of(Tensor.of("x", new float[] {1, 2, 3, 4}, 1, WIDTH));
  }

  private static ModelProto model() {
    return ModelProto.newBuilder()
        .setIrVersion(IR_VERSION)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setDomain("").setVersion(OPERATOR_SET))
        .setGraph(
            GraphProto.newBuilder()
                .setName(NAME)
                .addInput(FloatRow.named("x", WIDTH))
                .addOutput(FloatRow.named("y", WIDTH))
                .addNode(NodeProto.newBuilder().setOpType("Identity").addInput("x").addOutput("y")))
        .build();
  }
}
