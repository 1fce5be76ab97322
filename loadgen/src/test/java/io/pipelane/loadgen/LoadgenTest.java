package io.pipelane.loadgen;

import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
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
              "--class",
              "a=online",
              "--class",
              "b=online",
              "--json",
              file.toString());

      assertTrue(
          Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(ExitStatus.of(status)),
          err.toString());
    }
    assertTrue(out.toString().contains("zipf(0.9): a 65.1 % b 34.9 %"), out.toString());
    assertTrue(out.toString().contains("seed 7"), out.toString());
    JsonNode json = new ObjectMapper().readTree(file.toFile());
    assertEquals("ids:2,4", json.at("/flags/shape/0").asText());
    assertEquals(7, json.at("/seed").asLong());
    assertEquals(0.3, json.at("/steps/0/runs/0/window_seconds").asDouble(), 1e-9);
    assertTrue(json.at("/steps/0/runs/0/client_cpu/process_seconds").isNumber());
    assertTrue(json.at("/machine/cores").asInt() > 0);
    long answered = json.at("/steps/0/runs/0/total/answered").asLong();
    assertTrue(answered > 0);
    assertEquals(
        answered,
        json.at("/steps/0/runs/0/models/0/answered").asLong()
            + json.at("/steps/0/runs/0/models/1/answered").asLong());
    assertEquals("online", json.at("/steps/0/runs/0/classes/0/model").asText());
    assertEquals(answered, json.at("/steps/0/runs/0/classes/0/answered").asLong());
    assertTrue(out.toString().contains("[online]"), out.toString());
    assertTrue(json.at("/steps/0/runs/0/total/response_time_us/p99.9").asDouble() > 0);
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

      assertTrue(
          Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(ExitStatus.of(status)),
          err.toString());
    }
    assertEquals(40, inferences.get());
    assertTrue(out.toString().contains("service"), out.toString());
    assertTrue(out.toString().contains("late sends"), out.toString());
  }

  @Test
  void shouldWriteEveryFileAndRepeatItFromTheResult(@TempDir Path folder) throws Exception {
    String csv = folder.resolve("r.csv").toString();
    String json = folder.resolve("r.json").toString();
    String html = folder.resolve("r.html").toString();
    String hgrm = folder.resolve("r.hgrm").toString();
    String hlog = folder.resolve("r.hlog").toString();
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      execute(
          ("-m m -u "
                  + server.url()
                  + " --concurrency-range 1:2:1 --runs 2 --duration 100ms"
                  + " --warmup 50ms --slo 1s --name here --json "
                  + json
                  + " -f "
                  + csv
                  + " --html "
                  + html
                  + " --hgrm "
                  + hgrm
                  + " --hlog "
                  + hlog)
              .split(" ", -1));
      assertTrue(out.toString().contains("concurrency 2"), out + "" + err);
      assertTrue(out.toString().contains("±"), out.toString());
      assertTrue(out.toString().contains("100.00 % of all requests within"), out.toString());
      String again = folder.resolve("again.json").toString();

      Loadgen.execute("rerun", json, "--json", again);

      JsonNode first = new ObjectMapper().readTree(Path.of(json).toFile());
      JsonNode second = new ObjectMapper().readTree(Path.of(again).toFile());
      assertEquals(first.path("arguments"), second.path("arguments"));
      assertEquals(first.at("/steps/1/runs/1/seed"), second.at("/steps/1/runs/1/seed"));
      assertEquals(2, second.path("steps").size());
      try (ScriptedServer other = new ScriptedServer(this::serve)) {
        Loadgen.execute("rerun", json, "-u", other.url().toString(), "--json", again);
        JsonNode elsewhere = new ObjectMapper().readTree(Path.of(again).toFile());
        assertEquals(other.url().toString(), elsewhere.at("/server/url").asText());
      }
      Loadgen.execute("report", json, again, "--html", folder.resolve("both.html").toString());
    }
    List<String> lines = Files.readAllLines(Path.of(csv));
    assertTrue(lines.getFirst().startsWith("Concurrency,Inferences/Second,Client Send,Network+"));
    assertEquals(3, lines.size());
    assertEquals(lines.get(0).split(",", -1).length, lines.get(2).split(",", -1).length);
    assertTrue(Files.readString(Path.of(hgrm)).contains("1/(1-Percentile)"));
    assertTrue(Files.readString(Path.of(hlog)).contains("Interval_Max"), hlog);
    String page = Files.readString(Path.of(html));
    assertTrue(page.contains("\"name\":\"here\""), page);
    assertFalse(page.contains("src=") || page.contains("href="), "the page stands alone");
    assertTrue(Files.size(folder.resolve("both.html")) > page.length());
  }

  @Test
  void shouldCompareServersInTurn(@TempDir Path folder) throws Exception {
    List<String> turns = new CopyOnWriteArrayList<>();
    try (ScriptedServer one = new ScriptedServer(request -> named("one", turns, request));
        ScriptedServer other = new ScriptedServer(request -> named("other", turns, request))) {
      String html = folder.resolve("c.html").toString();
      int status =
          executeSubcommand(
              ("-m m --concurrency 1 --request-count 5 --warmup 0s --rounds 2 --slo 10s --class m=online --html "
                      + html
                      + " "
                      + one.url()
                      + " djl+"
                      + other.url())
                  .split(" ", -1));

      assertTrue(
          Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(ExitStatus.of(status)),
          err.toString());
      assertTrue(Files.size(Path.of(html)) > 10_000);
    }
    assertEquals(
        List.of(
            "one /v2/models/m/infer",
            "other /predictions/m",
            "one /v2/models/m/infer",
            "other /predictions/m"),
        turns);
    assertTrue(out.toString().contains("95 % interval"), out.toString());
    assertTrue(out.toString().contains("goodput/s"), out.toString());
    assertTrue(out.toString().contains("100.00 % of [online] within"), out.toString());
  }

  /** A proxy, and not the server, answers with a page. */
  @Test
  void shouldCountPagesAsErrors() throws Exception {
    try (ScriptedServer server =
        new ScriptedServer(
            request ->
                request.startLine().startsWith("GET")
                    ? serve(request)
                    : ScriptedServer.answer(
                        200, "content-type: Text/HTML; charset=utf-8\r\n", "<h1>Sign in</h1>"))) {
      int status =
          execute(
              ("-m m --concurrency 1 --request-count 5 --warmup 0s -u " + server.url())
                  .split(" ", -1));

      assertEquals(ExitStatus.ERRORS.code(), status, () -> out + "" + err);
    }
    assertTrue(
        out.toString().contains("5 × HTTP 200 with an HTML page, the first: <h1>Sign in</h1>"),
        out.toString());
  }

  @ParameterizedTest
  @CsvSource({"10000, holds the limit: 100.0", "0.000001, not even the lowest load"})
  void shouldSearchForTheHighestRate(String limitMillis, String found) throws Exception {
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      int status =
          execute(
              ("-m m -u "
                      + server.url()
                      + " --request-rate-range 50:100:25 --binary-search -l "
                      + limitMillis
                      + " --duration 100ms --warmup 0s")
                  .split(" ", -1));

      // A machine that is busy may hold the generator up, which is not for this test to say.
      boolean isFound = status == ExitStatus.OK.code();
      boolean isSpoiled = status == ExitStatus.BOTTLENECK.code();
      assertTrue(isSpoiled || isFound == found.contains("100"), out.toString());
    }
    assertTrue(out.toString().contains(found), out.toString());
    assertTrue(out.toString().contains("\nexit status "), out.toString());
  }

  /** Rates within bursts are searched, so that is what has been found. */
  @Test
  void shouldNameTheRateWithinBurstsInASearch(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("r.json");
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      execute(
          ("-m m -u "
                  + server.url()
                  + " --request-rate-range 200:200:25 --binary-search -l 10000 --burst 20ms:60ms"
                  + " --duration 100ms --warmup 0s --json "
                  + file)
              .split(" ", -1));
    }
    String found = "the highest load that holds the limit: 200.0 requests/s in bursts";
    assertTrue(out.toString().contains(found), out.toString());
    JsonNode json = new ObjectMapper().readTree(file.toFile());
    assertEquals(
        json.at("/steps/0/load").asText(), json.path("highest_load_name").asText(), json::toString);
    assertEquals(50, json.at("/steps/0/request_rate").asDouble(), 1e-9);
  }

  @Test
  void shouldReplayATraceWithEveryExampleOfAFile(@TempDir Path folder) throws Exception {
    Path trace = folder.resolve("trace.csv");
    Path data = folder.resolve("data.json");
    Files.writeString(
        trace, IntStream.range(0, 40).mapToObj(i -> i / 1e3 + ",m\n").collect(joining()));
    Files.writeString(data, "{\"data\":[{\"ids\":[1,2,3,4]},{\"ids\":[5,6,7,8]}]}");
    Set<String> bodies = ConcurrentHashMap.newKeySet();
    try (ScriptedServer server =
        new ScriptedServer(
            request -> {
              if (request.startLine().contains("/infer")) {
                bodies.add(request.body());
              }
              return serve(request);
            })) {
      String options = "--format json --shape ids:1,4 --input-data %s --trace %s -u %s";
      int status = execute(options.formatted(data, trace, server.url()).split(" ", -1));
      assertTrue(
          Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(ExitStatus.of(status)),
          err.toString());
      assertEquals(
          ExitStatus.WRONG_OPTION.code(),
          execute((options + " --warmup 1s").formatted(data, trace, server.url()).split(" ", -1)));
    }
    assertEquals(2, bodies.size(), bodies::toString);
    assertTrue(err.toString().contains("nothing is left to measure"), err.toString());
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

      assertEquals(ExitStatus.ERRORS.code(), status, err.toString());
    }
    assertTrue(out.toString().contains("5 × HTTP 503, the first: {\"error\":\"full\"}"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--concurrency 1                                  | no model that is ready",
        "-m m --rate 10 --distribution gamma              | --cv belong together",
        "-m m --rate 10 --cv 2                            | --cv belong together",
        "-m m --concurrency 1 --burst 1s:1s               | --burst",
        "-m m --rate 10 --burst 1s                        | not ON:OFF",
        "-m m --request-rate-range 5:1                    | a range needs",
        "-m m --request-rate-range 1:2:3:4                | START:END:STEP",
        "-m m --request-rate-range 1:9 --binary-search    | --latency-threshold",
        "-m m --rate 5 -l 3 --binary-search               | needs --request-rate-range",
        "-m m --rate 5 --duration 1s -p 500               | exclude each other",
        "-m m --rate 5 -p 500 -r 2                        | windows must be between",
        "-m m --rate 5 --switch-storm                     | needs two models",
        "-m m --rate 5 --runs 0                           | runs must be between",
        "-m m --trace x.csv                               | leave out --model",
        "--trace /nowhere.csv                             | there is no trace",
        "--trace x.csv --zipf 1                           | leave out --model",
        "--trace x.csv --burst 1s:1s                      | leave out --burst",
        "-m m --rate 5 --distribution constant --burst 1s:1s | poisson within",
        "-m m --concurrency-range 1:4:0.5                 | whole numbers",
        "-m m --rate 5 --input-data /nowhere              | neither a file nor a folder",
        "-m m --rate 5 --check-outputs                    | expect no outputs",
        "-m m                                             | --concurrency",
        "-m m --concurrency 1 --rate 5                    | mutually exclusive",
        "-m m --concurrency 0                             | concurrency must be between",
        "-m m --concurrency 1 --connections 3             | --connections belongs to --rate",
        "-m m --rate -3                                   | rate must be above 0",
        "-m m --rate 10 --duration 5                      | not a span of time",
        "-m m --rate 10 --duration 0s                     | duration must be between",
        "-m m --rate 10 --distribution beta               | --request-distribution",
        "-m m --rate 10 --zipf 99                         | zipf must be between",
        "-m m --rate 10 --zipf 1 --uniform                | mutually exclusive",
        "-m m --concurrency 1 --int-range 5               | not a range",
        "-m m --concurrency 1 --int-range 5:1             | must not be empty",
        "-m m --concurrency 1 --shape ids                 | not a shape",
        "-m m --concurrency 1 --shape other:1             | no model has such an input",
        "-m m --concurrency 1 --shape ids:1,5             | does not fit",
        "-m m --concurrency 1 --shape ids:9999999999,4    | larger than 256MiB",
        "-m m --rate 5 -s 5                               | give --measurement-interval",
        "-m m --rate 5 -p 500 --measurement-mode count_windows | is for time_windows",
        "-m m --rate 5 --measurement-request-count 9      | needs --measurement-mode",
        "-m m --rate 5 --duration 1s --measurement-mode time_windows | exclude each other",
        "-m m --rate 5 --warmup 1s --warmup-request-count 3 | exclude each other",
        "-m m --rate 5 --warmup-request-count 0           | must be positive",
        "--trace /nowhere.csv --warmup-request-count 3    | there is no trace",
        "-m m --request-intervals /nowhere                | there is no file",
        "-m m --request-intervals x --burst 1s:1s         | leave out --burst",
        "-m m --rate 5 --string-length 3 --string-data x  | leave out --string-length",
        "-m m --rate 5 --string-length 3 --input-data zero | are for --input-data random",
        "-m m --rate 5 --string-length -3                 | between 0 and",
        "-m m --rate 5 --request-parameter a:1            | it has no type",
        "-m m --rate 5 --request-parameter a:1:double     | of type bool, int or string",
        "-m m --rate 5 --request-parameter a:x:int        | whole number",
        "-m m --rate 5 --request-parameter binary_data_output:1:int | cannot be called",
        "-m m --rate 5 --verbose-csv                      | give -f FILE",
        "-m m --rate 5 --percentile 95                    | --percentile belongs to",
        "-m m --concurrency 1 --distribution constant     | --connections belongs to --rate",
        "-m m --rate 5 -b 8 --input-data x.json           | -b is for made-up inputs",
        "-m m --rate 5 -b -1                              | -b must be between 1 and 65536",
        "-m m --rate 5 --insecure                         | are for https and grpcs",
        "-m m --rate 5 --slo 0s                           | --slo must be above 0",
        "-m m --rate 5 --class n=online                   | none of the models that are asked: [m]",
        "-m m --rate 5 --json target/x -f target/y/../x   | named for two results",
        "-m m --rate 5 --shape ids:1,4 --shape ids:2,4    | has two shapes",
        "-m m --rate 5 --timeout 0s                       | between 0.001 s and 604800 s: 0 s",
        "-m m --rate 5 -u http://127.0.0.1:65536          | is at most 65535",
        "-m m --rate 5 -b 0                               | -b must be between 1 and 65536",
        "-m m -m other -m m --rate 5                      | named twice",
        "-m m --rate 5 --int-range 0:5 --input-data zero  | --int-range is for",
        "-m m --rate 5 --pixels 1:1                       | --pixels and --tokenizer",
        "-m m --concurrency 1 --format xml                | but was 'xml'",
        "-m m --concurrency 1 --frobnicate                | --frobnicate"
      })
  void shouldExitWithThreeWhenAnOptionIsWrong(String arguments, String message) throws Exception {
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      int status = execute((url(arguments, server) + arguments.strip()).split(" +", -1));

      assertEquals(ExitStatus.WRONG_OPTION.code(), status);
    }
    assertTrue(err.toString().contains(message), err.toString());
    assertEquals(0, inferences.get());
  }

  private static String url(String arguments, ScriptedServer server) {
    return arguments.contains("-u ") ? "" : "--url " + server.url() + " ";
  }

  @Test
  void shouldRefuseAnAddressWithAPassword() {
    assertEquals(
        ExitStatus.WRONG_OPTION.code(),
        execute("-u", "http://me:secret@127.0.0.1:1", "-m", "m", "--rate", "5"));
    assertTrue(err.toString().contains("as a header"), err.toString());
    assertFalse(err.toString().contains("secret"), err.toString());
  }

  @Test
  void shouldExitWithNinetyNineWhenNothingListens() throws Exception {
    try (ClosedPort nobody = new ClosedPort()) {
      assertEquals(
          ExitStatus.OTHER.code(),
          execute("-u", nobody.url().toString(), "-m", "m", "--concurrency", "1"));
    }
    assertTrue(err.toString().contains("does the server run?"), err.toString());
  }

  private Optional<String> named(String name, List<String> turns, ScriptedServer.Request request) {
    String turn = name + " " + request.startLine().split(" ", -1)[1];
    if (request.startLine().startsWith("POST")
        && (turns.isEmpty() || !turns.getLast().equals(turn))) {
      turns.add(turn);
    }
    return serve(request);
  }

  private int executeSubcommand(String... arguments) {
    CommandLine commandLine = Loadgen.configure(new CommandLine(new CompareCommand()));
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    return commandLine.execute(arguments);
  }

  @ParameterizedTest
  @ValueSource(strings = {"[\"bench\",\"faults\"]", "[]", "7"})
  void rerun_whatIsNoMeasurement_isRefused(String arguments, @TempDir Path folder)
      throws IOException {
    Path file = Files.writeString(folder.resolve("r.json"), "{\"arguments\":" + arguments + "}");
    assertEquals(ExitStatus.WRONG_OPTION.code(), Loadgen.execute("rerun", file.toString()));
  }

  private int execute(String... arguments) {
    CommandLine commandLine = Loadgen.commandLine();
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    return commandLine.execute(arguments);
  }

  private Optional<String> serve(ScriptedServer.Request request) {
    if (request.startLine().contains("/stats")) {
      return ScriptedServer.answer(404, "", "{}");
    }
    if (request.startLine().startsWith("GET")) {
      return ScriptedServer.answer(200, "", METADATA);
    }
    if (request.startLine().contains("/repository/index")) {
      return ScriptedServer.answer(200, "", "[]");
    }
    inferences.incrementAndGet();
    return ScriptedServer.answer(200, "", "{}");
  }
}
