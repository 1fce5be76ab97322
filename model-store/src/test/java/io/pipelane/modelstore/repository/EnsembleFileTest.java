package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.Ensemble.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EnsembleFileTest {
  private static final String CHAIN =
      """
      ensemble:
        steps:
          - model: detect
            inputs: {image: picture}
            outputs: {boxes: boxes}
          - model: read
            version: 2
            inputs: {where: boxes, what: picture}
            outputs: {text: text}
      """;

  @TempDir private Path folder = Path.of("");

  private Path write(String yaml) throws IOException {
    Path file = folder.resolve("pipe/pipelane.yaml");
    Files.createDirectories(file.getParent());
    return Files.writeString(file, yaml);
  }

  @Test
  void read_chain_isThatChain() throws IOException {
    assertEquals(
        Optional.of(
            new Ensemble(
                "pipe",
                List.of(
                    new Step(
                        "detect",
                        Optional.empty(),
                        Optional.empty(),
                        Map.of("image", "picture"),
                        Map.of("boxes", "boxes")),
                    new Step(
                        "read",
                        Optional.of(2L),
                        Optional.empty(),
                        Map.of("where", "boxes", "what", "picture"),
                        Map.of("text", "text"))))),
        EnsembleFile.read(write(CHAIN), "pipe"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "model: read | model: pipe | step 2 must name another model",
        "model: read | model: ../read | step 2 must name another model",
        "version: 2 | version: 0 | version must be a positive integer",
        "version: 2 | versions: 2 | step 2 has \"versions\"",
        "text: text | text: boxes | tensor \"boxes\" is made twice",
        "text: text | text: picture | tensor \"picture\" is taken before",
        "{text: text} | [text] | step 2: outputs must be",
        "text: text | text: [] | \"text\" must be given a name",
        "version: 2 | device: -1 | step 2: device must be",
        "version: 2 | device: cuda | step 2: device must be",
        "version: 2 | device: 0 | some steps name a device and some do not",
        "steps: | chain: | must have the list"
      })
  void read_chainThatIsNone_isRefused(String written, String instead, String reason)
      throws IOException {
    String yaml = CHAIN.replace(written, instead);
    Path file = write(yaml);
    StatusException error =
        assertThrows(StatusException.class, () -> EnsembleFile.read(file, "pipe"), yaml);
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertTrue(String.valueOf(error.getMessage()).contains(reason), error::getMessage);
  }

  @Test
  void read_stepsThatNameDevices_saysWhichDeviceHasWhichModel() throws IOException {
    String yaml =
        CHAIN
            .replace("version: 2", "device: 0")
            .replace("model: detect", "model: detect\n      device: 1");
    Ensemble spanning = EnsembleFile.read(write(yaml), "pipe").orElseThrow();
    assertEquals(Map.of("detect", 1, "read", 0), spanning.deviceOf());
    Path twice = write(yaml.replace("model: read", "model: detect"));
    StatusException error =
        assertThrows(StatusException.class, () -> EnsembleFile.read(twice, "pipe"));
    assertTrue(String.valueOf(error.getMessage()).contains("on two devices"), error::getMessage);
  }

  @Test
  void read_otherOptions_isNoEnsemble() throws IOException {
    assertEquals(Optional.empty(), EnsembleFile.read(write("warm-up: true\n"), "pipe"));
    assertEquals(Optional.empty(), EnsembleFile.read(write("{ not YAML"), "pipe"));
    assertEquals(Optional.empty(), EnsembleFile.read(folder.resolve("none"), "pipe"));
  }

  @Test
  void repository_hasEnsemblesBesideModels() throws IOException {
    write(CHAIN);
    Repository repository = new Repository(folder);
    assertEquals(List.of("pipe"), repository.ensembles().stream().map(Ensemble::name).toList());
    RepositoryScan scan = repository.scan();
    assertTrue(scan.problems().isEmpty() && scan.registered().isEmpty(), scan::toString);
    assertEquals(Optional.empty(), repository.ensemble("../pipe"));

    write(CHAIN + "warm-up: true\n");
    assertTrue(repository.ensembles().isEmpty());
    String problem = repository.scan().problems().getFirst().reason();
    assertTrue(problem.contains("beside it there are other options"), problem);
  }
}
