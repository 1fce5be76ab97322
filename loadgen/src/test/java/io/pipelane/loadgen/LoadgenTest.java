package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

@Timeout(30)
class LoadgenTest {
  private static final String METADATA =
      """
      {"name":"m","platform":"x","inputs":[{"name":"ids","datatype":"INT64","shape":[-1,4]}],
       "outputs":[]}""";

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final AtomicInteger inferences = new AtomicInteger();

  @Test
  void shouldAskMeasureAndReport(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("result.json");
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      int status =
          execute(
              "--url",
              server.url().toString(),
              "--model",
              "a",
              "--model",
              "b",
              "--zipf",
              "0.9",
              "--concurrency",
              "2",
              "--duration",
              "300ms",
              "--warmup",
              "100ms",
              "--seed",
              "7",
              "--shape",
              "ids:2,4",
              "--json",
              file.toString());

      assertEquals(Loadgen.OK, status, err.toString());
    }
    assertTrue(out.toString().contains("zipf(0.9): a 65.1 % b 34.9 %"), out.toString());
    assertTrue(out.toString().contains("seed 7"), out.toString());
    JsonNode json = new ObjectMapper().readTree(file.toFile());
    assertEquals("ids:2,4", json.at("/flags/shape/0").asText());
    assertEquals(7, json.at("/seed").asLong());
    assertEquals(0.3, json.at("/window_seconds").asDouble(), 1e-9);
    assertTrue(json.at("/client_cpu/process_seconds").isNumber());
    assertTrue(json.at("/machine/cores").asInt() > 0);
    long answered = json.at("/total/answered").asLong();
    assertTrue(answered > 0);
    assertEquals(
        answered, json.at("/models/0/answered").asLong() + json.at("/models/1/answered").asLong());
    assertTrue(json.at("/total/response_time_us/p99.9").asDouble() > 0);
  }

  @Test
  void shouldShowServiceTimesInAnOpenLoop() throws Exception {
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      int status =
          execute(
              "-u",
              server.url().toString(),
              "-m",
              "m",
              "--rate",
              "200",
              "--duration",
              "200ms",
              "--warmup",
              "0s",
              "--distribution",
              "constant",
              "--format",
              "json");

      assertEquals(Loadgen.OK, status, err.toString());
    }
    assertEquals(40, inferences.get());
    assertTrue(out.toString().contains("service"), out.toString());
    assertTrue(out.toString().contains("late sends"), out.toString());
  }

  @Test
  void shouldExitWithOneWhenAnswersAreErrors() throws Exception {
    try (ScriptedServer server =
        new ScriptedServer(
            request ->
                request.startLine().startsWith("GET")
                    ? ScriptedServer.answer(200, "", METADATA)
                    : ScriptedServer.answer(503, "", "{\"error\":\"full\"}"))) {
      int status =
          execute(
              "-u",
              server.url().toString(),
              "-m",
              "m",
              "--concurrency",
              "1",
              "--request-count",
              "5",
              "--warmup",
              "0s");

      assertEquals(Loadgen.ERRORS, status);
    }
    assertTrue(out.toString().contains("5 × HTTP 503, the first: {\"error\":\"full\"}"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--concurrency 1                                  | --model",
        "-m m                                             | --concurrency",
        "-m m --concurrency 1 --rate 5                    | mutually exclusive",
        "-m m --concurrency 0                             | concurrency must be between",
        "-m m --concurrency 1 --connections 3             | --connections belongs to --rate",
        "-m m --rate -3                                   | rate must be above 0",
        "-m m --rate 10 --duration 5                      | not a span of time",
        "-m m --rate 10 --duration 0s                     | duration must be between",
        "-m m --rate 10 --distribution gamma              | --distribution",
        "-m m --rate 10 --zipf 99                         | zipf must be between",
        "-m m --rate 10 --zipf 1 --uniform                | mutually exclusive",
        "-m m --concurrency 1 --int-range 5               | not a range",
        "-m m --concurrency 1 --int-range 5:1             | must not be empty",
        "-m m --concurrency 1 --shape ids                 | not a shape",
        "-m m --concurrency 1 --shape other:1             | no model has such an input",
        "-m m --concurrency 1 --shape ids:1,5             | does not fit",
        "-m m --concurrency 1 --shape ids:9999999999,4    | larger than 256MiB",
        "-m m --concurrency 1 --format xml                | --format",
        "-m m --concurrency 1 --frobnicate                | --frobnicate"
      })
  void shouldExitWithThreeWhenAnOptionIsWrong(String arguments, String message) throws Exception {
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      int status = execute(("--url " + server.url() + " " + arguments.strip()).split(" +", -1));

      assertEquals(Loadgen.WRONG_OPTION, status);
    }
    assertTrue(err.toString().contains(message), err.toString());
    assertEquals(0, inferences.get());
  }

  @Test
  void shouldExitWithNinetyNineWhenNothingListens() throws Exception {
    URI nobody;
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      nobody = server.url();
    }

    assertEquals(Loadgen.OTHER, execute("-u", nobody.toString(), "-m", "m", "--concurrency", "1"));
    assertTrue(err.toString().contains("does the server run?"), err.toString());
  }

  private int execute(String... arguments) {
    CommandLine commandLine = Loadgen.commandLine();
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    return commandLine.execute(arguments);
  }

  private Optional<String> serve(ScriptedServer.Request request) {
    if (request.startLine().startsWith("GET")) {
      return ScriptedServer.answer(200, "", METADATA);
    }
    inferences.incrementAndGet();
    return ScriptedServer.answer(200, "", "{}");
  }
}
