package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ModelName;
import io.pipelane.modelstore.repository.Ensemble.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TritonEnsembleTest {
  /** Its second step makes what its first one takes. */
  private static final String CHAIN =
      """
      name: "pipe"
      platform: "ensemble"
      max_batch_size: 8
      input [ { name: "picture" data_type: TYPE_UINT8 dims: [ -1 ] } ]
      output [ { name: "text" data_type: TYPE_STRING dims: [ 1 ] } ]
      ensemble_scheduling {
        step [
          {
            model_name: "read"
            model_version: -1
            input_map { key: "image" value: "scaled" }
            output_map { key: "text" value: "text" }
          },
          {
            model_name: "scale"
            model_version: 2
            input_map { key: "in" value: "picture" }
            output_map { key: "out" value: "scaled" }
            output_map { key: "size" value: "unused" }
          }
        ]
      }
      """;

  @TempDir private Path folder = Path.of("");

  private static Ensemble ensemble(String text) {
    return TritonEnsemble.of(TritonConfigFile.parse(text, "pipe"), "pipe");
  }

  @Test
  void of_steps_areInTheOrderInWhichTheyCanRun_withoutWhatNobodyTakes() {
    Ensemble pipe = ensemble(CHAIN);
    assertEquals(
        List.of(
            new Step(
                "scale",
                Optional.of(2L),
                Optional.empty(),
                Map.of("in", "picture"),
                Map.of("out", "scaled")),
            new Step(
                "read",
                Optional.empty(),
                Optional.empty(),
                Map.of("image", "scaled"),
                Map.of("text", "text"))),
        pipe.steps());
    assertEquals(List.of("text"), pipe.outputs());
    assertEquals(Optional.of(8), pipe.options().batching().maxRows());
    assertEquals(List.of(), pipe.declared().ignored());
  }

  /** Triton's owners may have what a step makes for another one answered, too. */
  @Test
  void of_outputThatAStepTakes_isAnOutput() {
    String more = "output [ { name: \"scaled\" data_type: TYPE_FP32 dims: [ -1 ] } ]\n";
    assertEquals(List.of("text", "scaled"), ensemble(CHAIN + more).outputs());
  }

  @Test
  void of_withoutTensors_hasThoseOfItsSteps() {
    String silent = CHAIN.replaceAll("(input|output) \\[.*\n", "");
    assertEquals(List.of(), ensemble(silent).outputs());
    assertEquals(2, ensemble(silent).steps().getFirst().outputs().size());
  }

  @Test
  void parse_namesWhatIsIgnored() {
    String more = "optimization { } version_policy { all { } } model_warmup { name: \"w\" }";
    assertEquals(
        List.of("model_warmup", "optimization", "version_policy"),
        ensemble(CHAIN + more).declared().ignored());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "model_name: \"scale\" | model_name: \"pipe\" | step 2 must name another model",
        "model_name: \"scale\" | model_name: \"../x\" | model names have " + ModelName.FORM,
        "model_version: 2 | model_version: -2 | step 2: model_version is -2",
        "model_version: 2 | model_namespace: \"n\" | step 2 names a model_namespace",
        "value: \"text\" | value: \"scaled\" | output \"text\" is made by no step",
        "value: \"unused\" | value: \"text\" | tensor \"text\" is made twice",
        "value: \"picture\" | value: \"text\" | input \"picture\" is taken by no step",
        "value: \"picture\" | value: \"other\" | input \"picture\" is taken by no step",
        "name: \"text\" | name: \"size\" | nobody takes what step 1, model read, makes",
        "value: \"scaled\" | value: \"\" | step 1: input_map has an entry without a name",
        "platform: \"ensemble\" | platform: \"onnxruntime_onnx\" | with ensemble_scheduling",
        "platform: \"ensemble\" | instance_group { } | an ensemble has no instance_group",
        "max_batch_size: 8 | max_batch_size: -1 | max_batch_size is -1",
      })
  void of_chainThatIsNone_isRefused(String written, String instead, String reason) {
    String text = CHAIN.replaceFirst(Pattern.quote(written), instead);
    StatusException error = assertThrows(StatusException.class, () -> ensemble(text), text);
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertTrue(String.valueOf(error.getMessage()).contains(reason), error::getMessage);
  }

  @Test
  void of_stepsInACircle_areRefused() {
    String text =
        CHAIN
            .replace("value: \"picture\"", "value: \"text\"")
            .replaceAll("(input|output) \\[.*\n", "");
    StatusException error = assertThrows(StatusException.class, () -> ensemble(text), text);
    assertTrue(String.valueOf(error.getMessage()).contains("in a circle"), error::getMessage);
  }

  private RepositoryScan scan(Repository repository) {
    RepositoryScan scan = repository.scan();
    assertEquals(List.of(), scan.registered());
    return scan;
  }

  @Test
  void repository_hasThemBesideModels() throws IOException {
    Path pipe = Files.createDirectories(folder.resolve("pipe/1")).resolveSibling("config.pbtxt");
    Files.writeString(pipe, CHAIN);
    Repository repository = new Repository(folder);
    assertEquals(List.of("pipe"), repository.ensembles().stream().map(Ensemble::name).toList());
    assertEquals(List.of(), scan(repository).problems());

    Files.writeString(pipe, CHAIN.replace("\"text\" }", "\"t\" }"));
    assertTrue(repository.ensembles().isEmpty());
    String problem = scan(repository).problems().getFirst().reason();
    assertTrue(problem.contains("config.pbtxt: "), problem);
  }

  @Test
  void repository_whereItCannotBe_saysSo() throws IOException {
    Path pipe = Files.createDirectories(folder.resolve("pipe/1")).resolveSibling("config.pbtxt");
    Files.writeString(pipe, CHAIN);
    Repository alone =
        new Repository(
            folder.resolve("pipe"), Optional.of(new ModelName("pipe")), _ -> VersionChoice.NONE);
    assertTrue(
        scan(alone).problems().getFirst().reason().contains("it declares an ensemble"),
        () -> alone.scan().toString());

    Files.writeString(pipe.resolveSibling("pipelane.yaml"), "warm-up: true\n");
    Repository repository = new Repository(folder);
    String problem = scan(repository).problems().getFirst().reason();
    assertTrue(problem.contains("nor a pipelane.yaml beside it"), problem);
  }
}
