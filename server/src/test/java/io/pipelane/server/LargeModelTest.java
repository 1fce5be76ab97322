package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.switcher.InferenceRequest;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A model above 2 GB, which no protobuf holds: its weights are external data. */
@Tag("long")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class LargeModelTest {
  private static final long ROWS = 2_200_000;
  private static final int WIDTH = 256;
  private static final float[] LAST_ROW = new float[WIDTH];

  static {
    for (int i = 0; i < WIDTH; i++) {
      LAST_ROW[i] = i / 8f;
    }
  }

  /** The table is a model's weights like any others, or is read where it lies. */
  @ParameterizedTest
  @CsvSource({"none, true", "processor, false"})
  void infer_modelAboveTwoGigabytes_answersFromItsEnd(
      String readInPlace, boolean isLoaded, @TempDir Path folder) throws Exception {
    Path version = folder.resolve("repository/large/1");
    Files.createDirectories(version);
    TestModels.write(model(), version.resolve("model.onnx"));
    writeTable(version.resolve("table.bin"));

    try (PipelaneServer server =
            PipelaneServer.start(
                PipelaneConfig.of(
                    Map.of(
                        "repository.path",
                        folder.resolve("repository").toString(),
                        "repository.cache",
                        folder.resolve("cache").toString(),
                        "device.memory",
                        "3GiB",
                        "switching.read-in-place",
                        readInPlace,
                        "server.http-port",
                        "0")));
        Arena arena = Arena.ofShared()) {
      server.imports().join();
      assertEquals(
          ModelCatalog.State.READY,
          server.catalog().index().getFirst().state(),
          () -> server.catalog().index().toString());
      MemorySegment row = arena.allocateFrom(ValueLayout.JAVA_LONG, ROWS - 1);
      AwaitedResult result = new AwaitedResult(arena);
      server
          .switcher()
          .submit(
              new InferenceRequest(
                  server.catalog().resolve("large", "").version(),
                  List.of(new InputTensor("row", TensorType.INT64, Shape.of(1), row)),
                  List.of("values")),
              result);
      assertArrayEquals(LAST_ROW, result.floats());
      server.switcher().verify();
      assertEquals(isLoaded ? ROWS * WIDTH * 4 : 0, server.switcher().transfers().bytesLoaded());
    }
  }

  /** {@code values = Gather(table, row)}. */
  private static ModelProto model() {
    TensorProto table =
        TensorProto.newBuilder()
            .setName("table")
            .setDataType(TensorType.FP32.onnx())
            .addDims(ROWS)
            .addDims(WIDTH)
            .setDataLocation(TensorProto.DataLocation.EXTERNAL)
            .addExternalData(entry("location", "table.bin"))
            .addExternalData(entry("length", Long.toString(ROWS * WIDTH * 4)))
            .build();
    return TestModels.model(
        GraphProto.newBuilder()
            .addInitializer(table)
            .addInput(TestModels.value("row", TensorType.INT64, 1))
            .addNode(TestModels.node("Gather", List.of("table", "row"), "values"))
            .addOutput(TestModels.value("values", TensorType.FP32, 1, WIDTH)));
  }

  private static StringStringEntryProto entry(String key, String value) {
    return StringStringEntryProto.newBuilder().setKey(key).setValue(value).build();
  }

  /** All zeros, and holes on disk, but for the last row. */
  private static void writeTable(Path file) throws IOException {
    ByteBuffer row = ByteBuffer.allocate(WIDTH * 4).order(ByteOrder.LITTLE_ENDIAN);
    row.asFloatBuffer().put(LAST_ROW);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      channel.write(row, (ROWS - 1) * WIDTH * 4);
    }
  }
}
