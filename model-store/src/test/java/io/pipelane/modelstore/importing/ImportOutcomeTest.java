package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.graph.CutSettings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ImportOutcomeTest {
  private static final ImportSettings SETTINGS =
      new ImportSettings(
          Path.of("libonnxruntime.so"),
          "1.28.0",
          Optimization.ALL,
          new CutSettings(1, 16),
          Duration.ofSeconds(9),
          ByteSize.ofMebibytes(2 << 10),
          ByteSize.ofMebibytes(1 << 10));

  @TempDir Path folder;

  /** What the machine failed at is tried again, what the model is to blame for is not. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "137 | Killed | UNAVAILABLE",
        "143 | Bye | UNAVAILABLE",
        "4   | java.nio.file.NoSuchFileException: model.onnx | UNAVAILABLE",
        "1   | java.lang.Error: No space left on device | UNAVAILABLE",
        "4   | java.io.IOException: File too large | TOO_LARGE",
        "4   | java.io.IOException: Map failed | INSUFFICIENT_MEMORY",
        "1   | Could not reserve enough space for object heap | INSUFFICIENT_MEMORY",
        "1   | There is insufficient memory for the Java Runtime | INSUFFICIENT_MEMORY",
        "3   | Terminating due to java.lang.OutOfMemoryError | INSUFFICIENT_MEMORY",
        "134 | terminate called after throwing 'std::bad_alloc' | INSUFFICIENT_MEMORY",
        "139 | Segmentation fault | INVALID_ARGUMENT",
        "1   | java.lang.IllegalStateException: gate rules | INVALID_ARGUMENT",
      })
  void failure_isThatOfTheMachineOrTheModel(int exit, String output, Status status) {
    StatusException error = ImportOutcome.failure(exit, output, SETTINGS);
    assertEquals(status, error.status(), error.getMessage());
  }

  /** What would not be said of the model again, on the same machine, is not remembered. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "3 | INVALID_ARGUMENT | it has no outputs | true",
        "3 | UNIMPLEMENTED | no kernel for it | true",
        "3 | INTERNAL | custom:Op(-1) is not a registered function/op | true",
        "3 | INTERNAL | gated answers differ from plain ones by 0.1 | true",
        "3 | INTERNAL | open file weights.data failed: Input/output error | false",
        "3 | INTERNAL | write failed: File too large | false",
        "3 | INVALID_ARGUMENT | Failed to write external initializers to file: x | false",
        "3 | INTERNAL | Failed to open for writing: optimized.onnx | false",
        "3 | INVALID_ARGUMENT | Protobuf serialization failed. | false",
        "3 | INTERNAL | pthread_create failed: Resource temporarily unavailable | false",
        "3 | INTERNAL | CUDNN_STATUS_EXECUTION_FAILED | false",
        "3 | INTERNAL | No space left on device | false",
        "3 | INTERNAL | std::bad_alloc | false",
        "3 | NOT_FOUND | File doesn't exist | false",
        "3 | INSUFFICIENT_MEMORY | no memory | false",
        "3 | DEVICE_FAILURE | it fell off the bus | false",
        "134 | INVALID_ARGUMENT | written before a crash | false",
        "137 | INVALID_ARGUMENT | written before it was killed | false",
      })
  void isLasting_whatTheProcessSaidOfTheModel(
      int exit, String status, String reason, boolean isLasting) throws IOException {
    Path log = Files.writeString(folder.resolve("import.log"), reason);
    Files.writeString(folder.resolve(ImportMain.REFUSAL), status + "\n" + reason);
    StatusException failure = ImportOutcome.failure(exit, folder, log, SETTINGS);
    assertEquals(isLasting, ImportOutcome.isLasting(exit, folder, failure), failure.getMessage());
    Files.delete(folder.resolve(ImportMain.REFUSAL));
    StatusException speechless = ImportOutcome.failure(exit, folder, log, SETTINGS);
    assertFalse(ImportOutcome.isLasting(exit, folder, speechless), "said nothing of the model");
  }

  @Test
  void isLastingTimeout_whatComputedAllTheTime() {
    Duration limit = Duration.ofMinutes(15);
    assertTrue(ImportOutcome.isLastingTimeout(limit, limit));
    assertTrue(ImportOutcome.isLastingTimeout(Duration.ofMinutes(14), limit));
    assertFalse(ImportOutcome.isLastingTimeout(Duration.ofMinutes(13), limit));
    assertFalse(ImportOutcome.isLastingTimeout(Duration.ZERO, limit));
  }

  @Test
  void failure_refusalForLackOfMemory_namesTheLimit() throws IOException {
    Files.writeString(folder.resolve(ImportMain.REFUSAL), "INSUFFICIENT_MEMORY\nno memory");
    StatusException error =
        ImportOutcome.failure(ImportMain.REFUSED, folder, folder.resolve("no.log"), SETTINGS);
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    assertTrue(String.valueOf(error.getMessage()).contains("import.memory is 2GiB"));
  }

  @Test
  void run_modelThatIsGone_isAFailureOfFiles() throws IOException {
    List<String> arguments = ImportMain.arguments(folder.resolve("gone.onnx"), folder, SETTINGS);
    assertEquals(ImportMain.FILES_FAILED, ImportMain.run(arguments.toArray(new String[0])));
  }

  /** A full disk has no room for the reason either, nor for the log. */
  @Test
  void run_refusalThatCannotBeWritten_isAFailureOfFiles() throws IOException {
    Path model = Files.writeString(folder.resolve("model.onnx"), "none");
    Files.createDirectory(folder.resolve(ImportMain.REFUSAL));
    List<String> arguments = ImportMain.arguments(model, folder, SETTINGS);
    assertEquals(ImportMain.FILES_FAILED, ImportMain.run(arguments.toArray(new String[0])));
    StatusException error = ImportOutcome.failure(ImportMain.FILES_FAILED, "", SETTINGS);
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(
        String.valueOf(error.getMessage()).endsWith("(no more is known, as on a full disk)"),
        error.getMessage());
  }

  @Test
  void limits_whereMemoryRunsShort_theProcessEndsFirst() throws Exception {
    List<String> command =
        List.of(
            "/bin/sh",
            "-c",
            ImportProcess.LIMITS,
            "sh",
            "unlimited",
            "unlimited",
            "cat",
            "/proc/self/oom_score_adj");
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    assertEquals(
        "1000",
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip());
    assertTrue(process.waitFor(1, TimeUnit.MINUTES));
    assertEquals(0, process.exitValue());
  }
}
