package io.pipelane.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.demo.model.DemoModel;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The demo as a newcomer starts it: imports, a server, and answers beside plain sessions'. */
@Timeout(300)
class LocalServerTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @Test
  void demo_servesAllModelsFromMemoryForTheLargest_andExitsWith0(@TempDir Path folder) {
    int exit =
        new CommandLine(new DemoCommand())
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err))
            .execute("--repository", folder.resolve("models").toString());

    String report = out.toString();
    assertEquals(0, exit, report + err);
    for (DemoModel model : DemoModel.values()) {
      assertTrue(report.contains(model.modelName()), model + " in " + report);
    }
    for (String row : new String[] {"free for weights", "session constants", "lanes' run-time"}) {
      assertTrue(report.contains(row), report);
    }
  }
}
