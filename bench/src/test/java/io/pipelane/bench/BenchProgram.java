package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.runtime.SharedCache;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;

/** Benchmark programs from their flags to their files, in a folder. */
final class BenchProgram {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final Path folder;

  BenchProgram(Path folder) {
    this.folder = folder;
  }

  /** Runs a program that succeeds, as short as it can be, and returns what it measured. */
  JsonNode run(String program, String... options) throws IOException {
    List<String> arguments = new ArrayList<>(List.of("--rounds=2", "--seconds=0.05"));
    arguments.add("--warmup=0.05");
    arguments.addAll(List.of(options));
    return only(program, arguments.toArray(String[]::new));
  }

  /** Runs a program that succeeds with these options alone, and returns what it measured. */
  JsonNode only(String program, String... options) throws IOException {
    Path json = folder.resolve("result.json");
    List<String> arguments = new ArrayList<>(List.of(program));
    arguments.addAll(List.of("--work=" + workWithSharedCache(), "--json=" + json));
    arguments.addAll(List.of(options));
    int status = execute(arguments.toArray(String[]::new));
    assertEquals(0, status, () -> out + "\n" + err);
    return new ObjectMapper().readTree(json.toFile());
  }

  /** The programs of all tests find there what one of them has imported. */
  private Path workWithSharedCache() throws IOException {
    Path work = Files.createDirectories(folder.resolve("work"));
    Path cache = work.resolve("cache");
    if (!Files.exists(cache)) {
      Files.createSymbolicLink(cache, SharedCache.folder());
    }
    return work;
  }

  /** Runs with exactly these arguments and returns the exit status. */
  int execute(String... arguments) {
    return new CommandLine(new BenchCommand())
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(arguments);
  }

  /** What was printed, and after it what was complained about. */
  String output() {
    return out + "\n" + err;
  }
}
