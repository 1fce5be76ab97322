package io.pipelane.bench.process;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ChildProcessTest {
  /** A benchmark tells of servers as they come. */
  @Test
  void options_areThoseOfTheStartScripts() throws IOException {
    String options = Files.readString(Path.of("../bin/lib/options.sh"));
    for (String option : ChildProcess.JVM_OPTIONS) {
      assertTrue(options.contains(option), option);
    }
  }
}
