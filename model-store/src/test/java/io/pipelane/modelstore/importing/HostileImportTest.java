package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.CutSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Models that are sound as files, and have ONNX Runtime compute for ever or take all memory there
 * is: their import is ended, in its process, and nothing of it is left.
 */
@Timeout(60)
class HostileImportTest {
  private static final Path NATIVES = SharedCache.folder();
  private static final ModelVersion VERSION = new ModelVersion("m", 1);
  private static final int WIDTH = 4;
  private static final long AGES = 1L << 50;
  private static final ByteSize MEMORY = ByteSize.ofMebibytes(2 << 10);

  @TempDir Path folder;

  private StatusException refusal(GraphProto.Builder graph, Duration timeLimit) throws IOException {
    ModelProto model = TestModels.model(graph);
    Path file = TestModels.write(model, folder.resolve("m/1/model.onnx"));
    Importer importer =
        Importer.open(
            folder.resolve("cache"),
            new ImportSettings(
                OrtLibrary.locate(Optional.empty(), NATIVES),
                "1.28.0",
                Optimization.ALL,
                new CutSettings(1, 16),
                timeLimit,
                MEMORY,
                ByteSize.ofMebibytes(1)));
    StatusException error =
        assertThrows(StatusException.class, () -> importer.importModel(file, VERSION));
    for (String left : List.of("cache/entries", "cache/work")) {
      try (Stream<Path> entries = Files.list(folder.resolve(left))) {
        assertEquals(List.of(), entries.toList(), left);
      }
    }
    return error;
  }

  private static TensorProto integer(String name, long value) {
    ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putLong(0, value);
    return TestModels.tensor(name, TensorType.INT64, ByteString.copyFrom(bytes));
  }

  @Test
  void loopThatEndsInAges_isEndedAfterTheTimeLimit() throws IOException {
    GraphProto.Builder body =
        GraphProto.newBuilder()
            .setName("body")
            .addInput(TestModels.value("i", TensorType.INT64))
            .addInput(TestModels.value("go", TensorType.BOOL))
            .addInput(TestModels.batch("sum", WIDTH))
            .addNode(TestModels.node("Identity", List.of("go"), "on"))
            .addNode(TestModels.node("Mul", List.of("sum", "sum"), "next"))
            .addOutput(TestModels.value("on", TensorType.BOOL))
            .addOutput(TestModels.batch("next", WIDTH));
    GraphProto.Builder loop =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", WIDTH))
            .addInitializer(integer("times", AGES))
            .addInitializer(
                TestModels.tensor("go", TensorType.BOOL, ByteString.copyFrom(new byte[] {1})))
            .addNode(
                TestModels.node("Loop", List.of("times", "go", "x"), "y")
                    .addAttribute(TestModels.graph("body", body)))
            .addOutput(TestModels.batch("y", WIDTH));
    StatusException error = refusal(loop, Duration.ofSeconds(4));
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertTrue(
        String.valueOf(error.getMessage()).contains("raise import.timeout"), error::getMessage);
  }

  /** A constant of 4 TiB, which a few bytes describe. */
  @Test
  void constantLargerThanAllMemory_isRefused() throws IOException {
    GraphProto.Builder constant =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", WIDTH))
            .addInitializer(
                integer("count", 1L << 40).toBuilder().addDims(1)) // One dimension's size.
            .addNode(TestModels.node("ConstantOfShape", List.of("count"), "all"))
            .addNode(TestModels.node("ReduceSum", List.of("all"), "sum"))
            .addNode(TestModels.node("Add", List.of("x", "sum"), "y"))
            .addOutput(TestModels.batch("y", WIDTH));
    StatusException error = refusal(constant, Duration.ofSeconds(40));
    assertTrue(!String.valueOf(error.getMessage()).isBlank());
    assertTrue(
        List.of(Status.INSUFFICIENT_MEMORY, Status.INVALID_ARGUMENT).contains(error.status()),
        error::toString);
  }
}
