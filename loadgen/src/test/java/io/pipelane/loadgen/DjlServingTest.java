package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/** DJL Serving's own route beside the protocol's, against a stand-in for it. */
@Timeout(30)
class DjlServingTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @Test
  void compare_ownRouteAndProtocol_bothAreAnswered() throws Exception {
    try (DjlStandIn djl = new DjlStandIn(false)) {
      int status =
          execute(
              new CompareCommand(),
              ("-m identity --format json --shape x:2,3 --concurrency 1 --duration 60ms --warmup 0s"
                      + " --rounds 2 %s djl+%s")
                  .formatted(djl.url(), djl.url()));

      assertTrue(
          Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(ExitStatus.of(status)),
          out.toString() + err);
      assertTrue(djl.inferences.get() > 0);
      assertTrue(djl.predictions.get() > 0);
      assertEquals(Set.of(List.of("x", "ids")), Set.copyOf(djl.arrays));
    }
    assertTrue(out.toString().contains("djl+http://"), out.toString());
  }

  @Test
  void overloadedServer_itsErrorsAreCountedAndConnectionsOpenedAnew() throws Exception {
    try (DjlStandIn djl = new DjlStandIn(true)) {
      int status =
          execute(
              Loadgen.commandLine(),
              "-m identity --concurrency 1 --request-count 5 --warmup 0s -u djl+" + djl.url());

      assertEquals(ExitStatus.ERRORS, ExitStatus.of(status), out.toString() + err);
      assertTrue(djl.accepted() > 5, "connections " + djl.accepted());
    }
    assertTrue(out.toString().contains("5 × HTTP 503, the first: {"), out.toString());
    assertTrue(out.toString().contains("ServiceUnavailableException"), out.toString());
  }

  private int execute(Subcommand subcommand, String arguments) {
    return execute(Loadgen.configure(new CommandLine(subcommand)), arguments);
  }

  private int execute(CommandLine commandLine, String arguments) {
    return commandLine
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(arguments.split(" ", -1));
  }
}
