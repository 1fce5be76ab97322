package io.pipelane.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.pipelane.server.cli.CommandLineFixture.Outcome;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands that ask a server, against one with canned answers. */
class ClientCommandsTest {
  private static final String ENCODER =
      """
      {"name":"encoder","versions":["2"],"platform":"onnxruntime_onnx",
       "inputs":[{"name":"ids","datatype":"INT64","shape":[-1,-1]},
                 {"name":"mask","datatype":"INT64","shape":[-1,-1]}],
       "outputs":[{"name":"state","datatype":"FP32","shape":[-1,4]}]}
      """;
  private static final String SPEAKER =
      """
      {"name":"the speaker","versions":["1"],"platform":"onnxruntime_onnx",
       "inputs":[{"name":"text","datatype":"BYTES","shape":[1]}],"outputs":[]}
      """;
  private static final String ANSWER =
      """
      {"model_name":"encoder","model_version":"2",
       "outputs":[{"name":"state","datatype":"FP32","shape":[1,4],"data":[0.10,-2,3e-7,4]}]}
      """;

  private final Map<String, String> answers = new HashMap<>();

  /** How often each request is still answered that its key has asked too much. */
  private final Map<String, Integer> limited = new ConcurrentHashMap<>();

  private final List<String> bodies = Collections.synchronizedList(new ArrayList<>());
  private HttpServer server;

  ClientCommandsTest() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
  }

  @BeforeEach
  void start() {
    server.createContext("/", this::answer);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    String request = exchange.getRequestMethod() + " " + exchange.getRequestURI().getRawPath();
    bodies.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
    if (limited.merge(request, -1, Integer::sum) >= 0) {
      exchange.getResponseHeaders().add("Retry-After", "0");
      exchange.sendResponseHeaders(429, -1);
      exchange.close();
      return;
    }
    String known = answers.get(request);
    String body = known == null ? "{\"error\":\"no such thing: " + request + "\"}" : known;
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(known == null ? 404 : 200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  private Outcome run(String... arguments) {
    List<String> all = new ArrayList<>(List.of(arguments));
    all.add("--url=http://127.0.0.1:" + server.getAddress().getPort() + "/");
    return CommandLineFixture.run(all.toArray(String[]::new));
  }

  private JsonNode sentInput(int index) throws IOException {
    return ServerClient.JSON.readTree(bodies.getLast()).path("inputs").get(index);
  }

  @Test
  void hosts_listsTheOthersAndTheirModels() {
    answers.put("GET /v2/hosts", "{\"own\":\"\",\"registry_reached\":false,\"hosts\":[]}");
    Outcome alone = run("hosts");
    assertEquals(0, alone.exitCode(), alone::err);
    assertTrue(alone.out().contains("shares models with no other host"), alone::out);
    answers.put(
        "GET /v2/hosts",
        """
        {"own":"a:8000","registry_reached":false,"hosts":[
         {"name":"b:8000","state":"SUSPECT","lanes":2,"wait_us":1536,"under_way":1,
          "models":[{"name":"encoder","version":2,"stall_us":24576}]}]}
        """);
    Outcome outcome = run("hosts", "--models");
    assertEquals(0, outcome.exitCode(), outcome::err);
    List<String> lines = outcome.out().lines().toList();
    assertEquals("Asked a:8000, which does not reach etcd at present", lines.getFirst());
    assertTrue(lines.get(2).matches("b:8000 +SUSPECT +1 +2 +1.536 +1"), outcome::out);
    assertTrue(lines.getLast().matches("b:8000 +encoder +2 +24.576"), outcome::out);
  }

  @Test
  void load_sendsAConfigurationAndVersions(@TempDir Path folder) throws IOException {
    answers.put("POST /v2/repository/models/encoder/load", "");
    assertEquals(0, run("load", "encoder").exitCode());
    assertEquals("{}", bodies.getLast());
    Path config = Files.writeString(folder.resolve("c.json"), "{\"max_batch_size\": 8}");
    Outcome outcome =
        run(
            "load",
            "encoder",
            "--config",
            config.toString(),
            "--version",
            "1",
            "--version=3",
            "--within-ms",
            "250");
    assertEquals(0, outcome.exitCode(), outcome::err);
    JsonNode parameters = ServerClient.JSON.readTree(bodies.getLast()).path("parameters");
    assertEquals(250_000, parameters.path("deadline").asLong());
    assertEquals(
        "{\"max_batch_size\":8,\"version_policy\":{\"specific\":{\"versions\":[1,3]}}}",
        parameters.path("config").asText());
    run("load", "encoder", "--within-ms", Long.toString(Long.MAX_VALUE));
    parameters = ServerClient.JSON.readTree(bodies.getLast()).path("parameters");
    assertEquals(Long.MAX_VALUE, parameters.path("deadline").asLong(), "the server refuses it");
    Files.writeString(config, "[]");
    Outcome wrong = run("load", "encoder", "--config", config.toString());
    assertEquals(1, wrong.exitCode());
    assertTrue(wrong.err().contains("no JSON object"), wrong::err);
  }

  @Test
  void upload_tellsHowMuchIsSent(@TempDir Path folder) throws IOException {
    answers.put(
        "PUT /v2/repository/models/encoder/versions/3",
        "{\"name\":\"encoder\",\"version\":\"3\",\"bytes\":33554432,\"sha256\":\"ab\"}");
    answers.put("POST /v2/repository/models/encoder/load", "");
    Path file = Files.write(folder.resolve("model.onnx"), new byte[32 << 20]);
    Outcome outcome = run("upload", "encoder", "3", file.toString(), "--load");
    assertEquals(0, outcome.exitCode(), outcome::err);
    List<String> sent = outcome.err().lines().filter(line -> line.startsWith("Sent ")).toList();
    assertEquals(10, sent.size(), outcome::err);
    assertEquals("Sent 32MiB of 32MiB", sent.getLast());
    assertEquals(
        List.of(
            "Stored encoder/3: 32MiB, SHA-256 ab", "It is being imported.", "It is in service."),
        outcome.out().lines().toList());
  }

  @Test
  void options_areShownAsTheyAre_andChanged(@TempDir Path folder) throws IOException {
    String yaml = "priority: offline # for the night\n";
    answers.put("GET /v2/repository/models/encoder/options", yaml);
    answers.put("PUT /v2/repository/models/encoder/options", "");
    Outcome shown = run("options", "encoder");
    assertEquals(0, shown.exitCode(), shown::err);
    assertEquals(yaml, shown.out());
    Path file = Files.writeString(folder.resolve("new.yaml"), "priority: online\n");
    Outcome changed = run("options", "encoder", file.toString());
    assertEquals(0, changed.exitCode(), changed::err);
    assertEquals("priority: online\n", bodies.getLast());
    assertEquals(1, run("options", "encoder", folder.resolve("none").toString()).exitCode());
  }

  @Test
  void unload_takesDependentsAlong() {
    answers.put("POST /v2/repository/models/chain/unload", "");
    assertEquals(0, run("unload", "chain").exitCode());
    assertEquals("{}", bodies.getLast());
    assertEquals(0, run("unload", "chain", "--dependents").exitCode());
    assertEquals("{\"parameters\":{\"unload_dependents\":true}}", bodies.getLast());
  }

  @Test
  void versions_areShownAndChosen() {
    String answer =
        """
        {"name":"encoder","serve":null,"default":"stable","labels":{"stable":"2","new":"3"},
         "versions":[{"version":"2","state":"READY","reason":""},
                     {"version":"3","state":"UNAVAILABLE","reason":"not an ONNX file"}]}
        """;
    answers.put("GET /v2/repository/models/encoder/versions", answer);
    answers.put("POST /v2/repository/models/encoder/versions", answer);
    Outcome shown = run("versions", "encoder");
    assertEquals(0, shown.exitCode(), shown::err);
    List<String> lines = shown.out().lines().toList();
    assertEquals("Served: as its folder says", lines.getFirst());
    assertEquals("Default: stable", lines.get(1));
    assertTrue(lines.get(3).matches("2 +READY +stable *"), shown::out);
    assertTrue(lines.get(4).matches("3 +UNAVAILABLE +new +not an ONNX file"), shown::out);
    Outcome chosen =
        run(
            "versions",
            "encoder",
            "--serve=latest:2",
            "--default=highest",
            "--label=stable=3",
            "--label",
            "new=4",
            "--unlabel=old");
    assertEquals(0, chosen.exitCode(), chosen::err);
    assertEquals(
        "{\"serve\":\"latest:2\",\"default\":null,"
            + "\"labels\":{\"stable\":3,\"new\":4,\"old\":null}}",
        bodies.getLast());
    assertEquals(0, run("versions", "encoder", "--serve=repository").exitCode());
    assertEquals("{\"serve\":null}", bodies.getLast());
  }

  @Test
  void models_listsStatesAndSignatures() {
    answers.put(
        "POST /v2/repository/index",
        """
        [{"name":"encoder","version":"2","state":"READY","reason":""},
         {"name":"the speaker","version":"1","state":"READY",
          "notes":["not verified","not captured: an output is computed on the host"]},
         {"name":"broken","version":"1","state":"UNAVAILABLE","reason":"not an ONNX file"}]
        """);
    answers.put("GET /v2/models/encoder/versions/2", ENCODER);
    answers.put("GET /v2/models/the%20speaker/versions/1", SPEAKER);
    Outcome outcome = run("models");
    assertEquals(0, outcome.exitCode(), outcome::err);
    List<String> lines = outcome.out().lines().toList();
    assertEquals(4, lines.size());
    assertTrue(lines.get(1).contains("ids INT64 [-1,-1], mask INT64 [-1,-1]"), outcome::out);
    assertTrue(lines.get(2).contains("text BYTES [1]"), outcome::out);
    assertTrue(
        lines.get(2).endsWith("not verified; not captured: an output is computed on the host"),
        outcome::out);
    assertTrue(lines.get(3).matches("broken +1 +UNAVAILABLE +not an ONNX file"), outcome::out);
  }

  @Test
  void models_listsAll_thoughOneIsNotDescribed_andAsksAgainWhereItAskedTooMuch() {
    answers.put(
        "POST /v2/repository/index",
        """
        [{"name":"gone","version":"1","state":"READY","reason":""},
         {"name":"encoder","version":"2","state":"READY","reason":""}]
        """);
    answers.put("GET /v2/models/encoder/versions/2", ENCODER);
    limited.put("GET /v2/models/encoder/versions/2", 2);
    Outcome outcome = run("models");
    assertEquals(0, outcome.exitCode(), outcome::err);
    List<String> lines = outcome.out().lines().toList();
    assertTrue(
        lines.get(1).matches("gone +1 +READY +not described: the server answered 404: no such .*"),
        outcome::out);
    assertTrue(lines.get(2).contains("ids INT64 [-1,-1], mask INT64 [-1,-1]"), outcome::out);
    limited.put("GET /v2/models/encoder/versions/2", Integer.MAX_VALUE);
    assertTrue(run("models").out().contains("not described: the server answered 429"));
  }

  @Test
  void models_ofEmptyServer_saysSo() {
    answers.put("POST /v2/repository/index", "[]");
    assertEquals("The server has no models.\n", run("models").out());
  }

  @Test
  void infer_flatAndNestedInputs_areSentInTheDeclaredShape() throws IOException {
    answers.put("GET /v2/models/encoder", ENCODER);
    answers.put("POST /v2/models/encoder/infer", ANSWER);
    Outcome outcome =
        run(
            "infer",
            "encoder",
            "--input",
            "ids=[101, 9007199254740993, 102]",
            "--input",
            "mask=[[1,1,1]]",
            "--output",
            "state");
    assertEquals(0, outcome.exitCode(), outcome::err);
    assertEquals(
        "{\"name\":\"ids\",\"datatype\":\"INT64\",\"shape\":[1,3],"
            + "\"data\":[101,9007199254740993,102]}",
        sentInput(0).toString());
    assertEquals("[1,3]", sentInput(1).path("shape").toString());
    assertTrue(bodies.getLast().contains("\"outputs\":[{\"name\":\"state\"}]"));
    assertTrue(outcome.out().startsWith("encoder, version 2\n"), outcome::out);
    assertTrue(
        outcome.out().matches("(?s).*state +FP32 +\\[1,4] +0\\.10 -2 3E-7 4\n"), outcome::out);
  }

  @Test
  void infer_withVersionAndFile_asksThatVersion(@TempDir Path folder) throws IOException {
    answers.put("GET /v2/models/encoder/versions/2", ENCODER);
    answers.put("POST /v2/models/encoder/versions/2/infer", ANSWER);
    Path file = Files.writeString(folder.resolve("ids.json"), "[[1,2],[3,4]]\n");
    Outcome outcome =
        run("infer", "encoder", "--version=2", "--json", "--input=ids=@" + file, "--input=mask=7");
    assertEquals(0, outcome.exitCode(), outcome::err);
    assertEquals("[2,2]", sentInput(0).path("shape").toString());
    assertEquals("[1,1]", sentInput(1).path("shape").toString());
    assertEquals(ServerClient.JSON.readTree(ANSWER), ServerClient.JSON.readTree(outcome.out()));
  }

  @Test
  void infer_bareTextForTheOnlyInput_isSentAsString() throws IOException {
    answers.put("GET /v2/models/the%20speaker", SPEAKER);
    answers.put("POST /v2/models/the%20speaker/infer", "{}");
    Outcome outcome = run("infer", "the speaker", "--input", "good morning = hello");
    assertEquals(0, outcome.exitCode(), outcome::err);
    assertEquals("[\"good morning = hello\"]", sentInput(0).path("data").toString());
  }

  @Test
  void infer_textThatLooksLikeOtherJson_isSentAsTyped() throws IOException {
    answers.put("GET /v2/models/the%20speaker", SPEAKER);
    answers.put("POST /v2/models/the%20speaker/infer", "{}");
    for (String text : List.of("1984", "true", "null", "", "{}", "[1]", "[sic]")) {
      Outcome outcome = run("infer", "the speaker", "--input", "text=" + text);
      assertEquals(0, outcome.exitCode(), outcome::err);
      assertEquals(text, sentInput(0).path("data").path(0).textValue());
    }
    for (String text : List.of("\"hello\"", "[\"hello\"]")) {
      assertEquals(0, run("infer", "the speaker", "--input", "text=" + text).exitCode());
      assertEquals("[\"hello\"]", sentInput(0).path("data").toString());
    }
  }

  @Test
  void infer_wrongInputs_areRefusedBeforeSending() {
    answers.put("GET /v2/models/encoder", ENCODER);
    Outcome missing = run("infer", "encoder", "--input", "ids=[1]");
    assertEquals(1, missing.exitCode());
    assertTrue(missing.err().contains("--input mask=...  INT64 [-1,-1]"), missing::err);
    assertTrue(run("infer", "encoder", "--input", "[1]").err().contains("names none"));
    assertTrue(
        run("infer", "encoder", "--input=ids=[[1,2],[3]]", "--input=mask=1")
            .err()
            .contains("unevenly"));
    assertTrue(run("infer", "encoder", "--input", "ids=[1").err().contains("is no JSON number"));
    assertTrue(run("infer", "encoder", "--input", "ids=@/absent").err().contains("cannot be read"));
  }

  @Test
  void infer_wrongNameForTheOnlyInput_namesIt() {
    answers.put("GET /v2/models/squarer", ENCODER.replaceFirst(",\\s*\\{\"name\":\"mask.*?}", ""));
    Outcome wrong = run("infer", "squarer", "--input", "id=[[1,2]]");
    assertEquals(1, wrong.exitCode());
    assertTrue(wrong.err().contains("\"id=[[1,2]]\" names none of the inputs"), wrong::err);
    assertTrue(wrong.err().contains("--input ids=...  INT64 [-1,-1]"), wrong::err);
    String file = run("infer", "squarer", "--input", "@/absent=file").err();
    assertTrue(file.contains("cannot be read from /absent=file"), file);
  }

  @Test
  void infer_fileBehindABlank_isReadAsJson(@TempDir Path folder) throws IOException {
    answers.put("GET /v2/models/the%20speaker", SPEAKER);
    answers.put("POST /v2/models/the%20speaker/infer", "{}");
    Path file = Files.writeString(folder.resolve("input.json"), "[\"two words\"]");
    Outcome outcome = run("infer", "the speaker", "--input", "@" + file);
    assertEquals(0, outcome.exitCode(), outcome.err());
    assertEquals("[\"two words\"]", sentInput(0).path("data").toString());
    Outcome directory = run("infer", "the speaker", "--input", "@" + folder);
    assertTrue(directory.err().contains("cannot be read from " + folder), directory::err);
  }

  @Test
  void infer_inputTwice_isRefused() {
    answers.put("GET /v2/models/the%20speaker", SPEAKER);
    Outcome twice = run("infer", "the speaker", "--input", "a", "--input", "text=b");
    assertEquals(1, twice.exitCode());
    assertTrue(twice.err().contains("input text is given twice"), twice::err);
  }

  @Test
  void jobs_addressInFrontOfTheSubcommandOrBehindIt_isAsked() {
    answers.put("GET /v2/jobs/7", "{\"id\":\"7\"}");
    String url = "--url=http://127.0.0.1:" + server.getAddress().getPort();
    for (String[] arguments :
        new String[][] {{"jobs", url, "show", "7"}, {"jobs", "show", url, "7"}}) {
      Outcome outcome = CommandLineFixture.run(arguments);
      assertEquals(0, outcome.exitCode(), outcome.err());
    }
  }

  @Test
  void url_thatIsNone_isSaidSo() {
    for (String url :
        new String[] {
          "127.0.0.1:8000", "http://127.0.0.1:65536", "http://a b", "", "httpx://127.0.0.1:8000"
        }) {
      Outcome outcome = CommandLineFixture.run("models", "--url", url);
      assertEquals(
          "pipelane models: \""
              + url
              + "\" is no address of a server; write it like"
              + " http://127.0.0.1:8000\n",
          outcome.err());
    }
  }

  @Test
  void url_thatNamesWhoAsks_isRefusedAndNotRepeated() {
    for (String url : new String[] {"http://name:secret@127.0.0.1", "httpx://name:secret@a"}) {
      Outcome outcome = CommandLineFixture.run("models", "--url", url);
      assertEquals(
          "pipelane models: --url is to have no user:password@; name a file with the API key by"
              + " --api-key-file\n",
          outcome.err());
    }
    for (String url : new String[] {"http://name:s/ecret@a", "http://name:s ecret@a"}) {
      String error = CommandLineFixture.run("models", "--url", url).err();
      assertTrue(error.contains("\"http://...@a\" is no address"), error);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\n", "secret\nsecret", "s\u00e9cret"})
  void keyFile_withoutOneKey_isRefusedAndNotRepeated(String text, @TempDir Path folder)
      throws Exception {
    Path file = Files.writeString(folder.resolve("key"), text);
    String error = CommandLineFixture.run("models", "--api-key-file", file.toString()).err();
    assertEquals(
        "pipelane models: --api-key-file: "
            + file
            + " is to hold one API key and nothing else, in a line of ASCII\n",
        error);
  }

  @Test
  void infer_unknownModel_printsTheServersReason() {
    Outcome outcome = run("infer", "absent", "--input", "x=1");
    assertEquals(1, outcome.exitCode());
    assertEquals(
        "pipelane infer: the server answered 404: no such thing: GET /v2/models/absent\n",
        outcome.err());
  }

  /** As mutual TLS ends one where the client shows no certificate. */
  @Test
  void models_connectionThatJustEnds_saysWhatThatMayMean() throws IOException {
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Thread _ =
          Thread.startVirtualThread(
              () -> {
                while (!other.isClosed()) {
                  try (Socket connection = other.accept()) {
                    connection.getInputStream().read();
                  } catch (IOException e) {
                    return;
                  }
                }
              });
      String url = "http://127.0.0.1:" + other.getLocalPort();
      Outcome outcome = CommandLineFixture.run("models", "--url", url);
      assertEquals(1, outcome.exitCode());
      assertTrue(outcome.err().contains("the server may speak TLS (https://)"), outcome::err);
    }
  }

  @Test
  void models_withoutServer_saysHowToStartOne() {
    int port = server.getAddress().getPort();
    server.stop(0);
    Outcome outcome = CommandLineFixture.run("models", "--url", "http://127.0.0.1:" + port);
    assertEquals(1, outcome.exitCode());
    assertTrue(outcome.err().contains("no server answers at http://127.0.0.1:" + port));
    assertEquals(1, outcome.err().lines().count());
    assertTrue(CommandLineFixture.run("models", "--url", "nowhere").err().contains("no address"));
  }
}
