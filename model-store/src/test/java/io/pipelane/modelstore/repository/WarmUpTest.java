package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.WarmUp.FromFile;
import io.pipelane.modelstore.repository.WarmUp.Input;
import io.pipelane.modelstore.repository.WarmUp.MadeUp;
import io.pipelane.modelstore.repository.WarmUp.Zeros;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests to warm a model up, as owners write them. */
class WarmUpTest {
  @TempDir private Path root = Path.of("");

  private static List<WarmUp> tritons(String text) {
    return TritonOptions.of(TritonConfigFile.parse(text, "m")).warmUps();
  }

  private static List<WarmUp> ours(String yaml) {
    return ModelOptionsFile.parse(yaml.getBytes(StandardCharsets.UTF_8)).warmUps();
  }

  private static Path nowhere(String file) {
    return Path.of(file);
  }

  @Test
  void tritons_haveTheBatchInFrontAndAFileForEachRow() {
    String text =
        """
        max_batch_size: 8
        model_warmup [
          { name: "one" batch_size: 2 count: 3
            inputs { key: "b" value { data_type: TYPE_INT64 dims: [ 4 ] zero_data: true } }
            inputs { key: "a" value { dims: [ 3, 5 ] random_data: true } } },
          { name: "two"
            inputs { key: "a" value { data_type: TYPE_FP32 dims: [ 1 ] input_data_file: "a.bin" } } },
          { name: "weights alone" }
        ]
        """;
    assertEquals(
        List.of(
            new WarmUp(
                "one",
                3,
                List.of(
                    new Input("a", Optional.empty(), Shape.of(2, 3, 5), new MadeUp()),
                    new Input("b", Optional.of(TensorType.INT64), Shape.of(2, 4), new Zeros()))),
            new WarmUp(
                "two",
                1,
                List.of(
                    new Input(
                        "a",
                        Optional.of(TensorType.FP32),
                        Shape.of(1, 1),
                        new FromFile(nowhere("a.bin"), 1))))),
        tritons(text));
    String unbatched =
        "model_warmup { inputs { key: \"a\" value { dims: [ 2 ] zero_data: true } } }";
    assertEquals(Shape.of(2), tritons(unbatched).getFirst().inputs().getFirst().shape());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "batch_size: 9 inputs { key: \"a\" value { zero_data: true } }",
        "count: 1001 inputs { key: \"a\" value { zero_data: true } }",
        "count: 4294967295 inputs { key: \"a\" value { zero_data: true } }",
        "inputs { key: \"a\" value { dims: [ -1 ] zero_data: true } }",
        "inputs { key: \"a\" value { dims: [ 1 ] } }",
        "inputs { key: \"a\" value { input_data_file: \"../a\" } }",
        "inputs { key: \"a\" value { data_type: TYPE_BF16 input_data_file: \"\" } }",
      })
  void tritons_thatCannotBe_areRefused(String sample) {
    StatusException refused =
        assertThrows(
            StatusException.class,
            () -> tritons("max_batch_size: 8 model_warmup { " + sample + " }"));
    assertEquals(Status.INVALID_ARGUMENT, refused.status());
    assertTrue(String.valueOf(refused.getMessage()).startsWith("config.pbtxt: model_warmup"));
  }

  @Test
  void ours_areAList() {
    String yaml =
        """
        warm-up:
          - inputs:
              a: {shape: [1, 4], data: zero}
              b: {shape: [], data: random}
          - name: real
            count: 2
            inputs: {a: {shape: [2, 4], file: rows.bin}}
        """;
    assertEquals(
        List.of(
            new WarmUp(
                "warm-up[0]",
                1,
                List.of(
                    new Input("a", Optional.empty(), Shape.of(1, 4), new Zeros()),
                    new Input("b", Optional.empty(), Shape.of(), new MadeUp()))),
            new WarmUp(
                "real",
                2,
                List.of(
                    new Input(
                        "a",
                        Optional.empty(),
                        Shape.of(2, 4),
                        new FromFile(nowhere("rows.bin"), 1))))),
        ours(yaml));
    assertTrue(ModelOptionsFile.parse(yaml.getBytes(StandardCharsets.UTF_8)).warmUp());
    assertEquals(List.of(), ours("warm-up: true"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "warm-up: [1]",
        "warm-up: [{}]",
        "warm-up: [{inputs: {a: {shape: 3, data: zero}}}]",
        "warm-up: [{inputs: {a: {shape: [-1], data: zero}}}]",
        "warm-up: [{inputs: {a: {shape: [1], data: one}}}]",
        "warm-up: [{inputs: {a: {shape: [1]}}}]",
        "warm-up: [{inputs: {a: {shape: [1], file: ../a}}}]",
        "warm-up: [{inputs: {a: {shape: [1], file: a, data: zero}}}]",
        "warm-up: [{count: 0, inputs: {a: {shape: [1], data: zero}}}]",
        "warm-up: [{count: 600, inputs: {a: {shape: [1], data: zero}}},"
            + " {count: 600, inputs: {a: {shape: [1], data: zero}}}]",
      })
  void ours_thatCannotBe_areRefused(String yaml) {
    StatusException refused = assertThrows(StatusException.class, () -> ours(yaml));
    assertEquals(Status.INVALID_ARGUMENT, refused.status());
    assertTrue(String.valueOf(refused.getMessage()).startsWith("pipelane.yaml: warm-up"));
  }

  @Test
  void scan_findsFilesBesideTheVersions() throws IOException {
    Path model = Files.createDirectories(root.resolve("m/1"));
    Files.writeString(model.resolve("model.onnx"), "x");
    Files.writeString(
        root.resolve("m/pipelane.yaml"), "warm-up: [{inputs: {a: {shape: [1], file: a.bin}}}]");
    WarmUp found =
        new Repository(root).scan().registered().getFirst().options().warmUps().getFirst();
    assertEquals(
        new FromFile(root.resolve("m/warmup/a.bin").toAbsolutePath(), 1),
        found.inputs().getFirst().data());
  }
}
