package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StoredOptionsTest {
  private static final String OFFLINE = "priority: offline # for the night\n";

  @TempDir private Path root;

  private StoredOptions options(String model) {
    return new RepositoryWriter(root, new ByteSize(1000), new Random(5)).options(model);
  }

  private void write(String model, String yaml) {
    options(model).write(yaml.getBytes(StandardCharsets.UTF_8), _ -> {});
  }

  private String read(String model) {
    return new String(options(model).read(), StandardCharsets.UTF_8);
  }

  private Status refused(Runnable call) throws IOException {
    Status status = assertThrows(StatusException.class, call::run).status();
    try (Stream<Path> entries = Files.list(root)) {
      List<String> drafts =
          entries.map(Path::toString).filter(name -> name.contains(".draft")).toList();
      assertEquals(List.of(), drafts);
    }
    return status;
  }

  @Test
  void options_areKeptAsTheyAreWritten() {
    write("m", OFFLINE);
    assertEquals(OFFLINE, read("m"));
    write("m", "");
    assertEquals("", read("m"));
    write("chain", "ensemble: {steps: [{model: a, inputs: {x: x}, outputs: {y: y}}]}");
    assertTrue(new Repository(root).ensemble("chain").isPresent());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"priority: never", "unknown: 1", "priority: [", "ensemble: {steps: 3}", "- a"})
  void whatImportWouldRefuse_leavesWhatIsThere(String yaml) throws IOException {
    write("m", OFFLINE);
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> write("m", yaml)));
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> write("new", yaml)));
    assertEquals(OFFLINE, read("m"));
    assertFalse(Files.exists(root.resolve("new")));
  }

  @Test
  void whatIsTooLarge_isRefused() throws IOException {
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> write("m", "#".repeat((256 << 10) + 1))));
  }

  @Test
  void namesThatLeadElsewhere_areRefused(@TempDir Path outside) throws IOException {
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> write("../m", OFFLINE)));
    Files.createSymbolicLink(root.resolve("link"), outside);
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> write("link", OFFLINE)));
    Files.writeString(outside.resolve("pipelane.yaml"), "secret: 1");
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> read("link")));
  }

  @Test
  void modelWithoutOptions_hasNone() throws IOException {
    assertEquals(Status.NOT_FOUND, refused(() -> read("m")));
  }
}
