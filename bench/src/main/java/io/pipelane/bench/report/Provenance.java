package io.pipelane.bench.report;

import io.pipelane.loadgen.report.Machine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a figure has to be read with: when, on what, of which state of the source. */
public final class Provenance {
  private Provenance() {}

  /** Names and values, for people and programs. */
  public static Map<String, String> now(String runtimeVersion) {
    Machine machine = Machine.current();
    Map<String, String> values = new LinkedHashMap<>();
    values.put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    values.put("commit", commit().orElse("unknown"));
    values.put("processor", machine.processor());
    values.put("cores", Integer.toString(machine.cores()));
    values.put("operating_system", machine.operatingSystem());
    values.put("java", machine.java());
    values.put("onnxruntime", runtimeVersion);
    return values;
  }

  /** The commit that a package was made of, or else the one checked out; marked when changed. */
  private static Optional<String> commit() {
    String packed = System.getProperty("pipelane.commit", "");
    return packed.isEmpty() ? checkedOut() : Optional.of(packed);
  }

  private static Optional<String> checkedOut() {
    return git("rev-parse", "--short=12", "HEAD")
        .map(
            commit ->
                git("status", "--porcelain", "--untracked-files=no")
                    .filter(String::isEmpty)
                    .map(_ -> commit)
                    .orElse(commit + " with changes"));
  }

  private static Optional<String> git(String... arguments) {
    try {
      ProcessBuilder builder = new ProcessBuilder("git");
      builder.command().addAll(List.of(arguments));
      Process process = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
      String output =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      return process.waitFor() == 0 ? Optional.of(output) : Optional.empty();
    } catch (IOException e) {
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }
}
