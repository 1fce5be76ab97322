package io.pipelane.server.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** A headless Chromium with one page, driven over its DevTools protocol. */
final class Browser implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final List<String> NAMES =
      List.of("chromium", "chromium-browser", "google-chrome", "chrome");
  private static final long LONGEST_SECONDS = 60;
  private static final String ADDRESS = "DevTools listening on ws://";

  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();
  private final WebSocket socket;
  private final AtomicInteger calls = new AtomicInteger();
  private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();

  /** What went wrong in the page: exceptions, and what its security policy kept from it. */
  final List<String> complaints = new CopyOnWriteArrayList<>();

  /** The program, where one is installed. */
  static Optional<Path> program() {
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1))
        .flatMap(folder -> NAMES.stream().map(name -> Path.of(folder, name)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * @param profile an empty folder
   */
  Browser(Path program, Path profile) throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(
                program.toString(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--remote-debugging-port=0",
                "--user-data-dir=" + profile,
                "about:blank")
            .redirectOutput(ProcessBuilder.Redirect.DISCARD);
    builder.environment().put("TMPDIR", profile.toString());
    process = builder.start();
    socket = http.newWebSocketBuilder().buildAsync(page(), new Listener()).join();
    call("Runtime.enable", Map.of());
    call("Log.enable", Map.of());
    call("Page.enable", Map.of());
  }

  /** The address of the page's own conversation. */
  private URI page() throws IOException, InterruptedException {
    BufferedReader errors = new BufferedReader(process.errorReader(StandardCharsets.UTF_8));
    for (String line = errors.readLine(); line != null; line = errors.readLine()) {
      if (line.startsWith(ADDRESS)) {
        drain(errors);
        String host = line.substring(ADDRESS.length(), line.indexOf('/', ADDRESS.length()));
        URI list = URI.create("http://" + host + "/json/list");
        JsonNode targets =
            JSON.readTree(
                http.send(HttpRequest.newBuilder(list).build(), BodyHandlers.ofString()).body());
        for (JsonNode target : targets) {
          if (target.path("type").asText().equals("page")) {
            return URI.create(target.path("webSocketDebuggerUrl").asText());
          }
        }
      }
    }
    throw new IOException("Chromium has said of no page where it is");
  }

  private static void drain(BufferedReader errors) {
    Thread.ofVirtual().start(() -> errors.lines().forEach(_ -> {}));
  }

  /** Blocks for the answer, which what never comes to hold on a page would not have. */
  JsonNode call(String method, Map<String, ?> parameters) {
    int id = calls.incrementAndGet();
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    answers.put(id, answer);
    ObjectNode message = JSON.createObjectNode().put("id", id).put("method", method);
    message.set("params", JSON.valueToTree(parameters));
    socket.sendText(message.toString(), true).join();
    JsonNode answered = answer.orTimeout(LONGEST_SECONDS, TimeUnit.SECONDS).join();
    if (answered.has("error")) {
      throw new AssertionError(method + ": " + answered.path("error"));
    }
    return answered.path("result");
  }

  void size(int width, int height) {
    call(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
  }

  /** Has the page prefer {@code light} or {@code dark}. */
  void prefer(String scheme) {
    call(
        "Emulation.setEmulatedMedia",
        Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
  }

  void open(String url) {
    call("Page.navigate", Map.of("url", url));
  }

  /** Waits in the page, and in those that take its place, until a condition holds. */
  void await(String condition) {
    String look =
        "new Promise(done => { const look = () => { let holds = false;"
            + " try { holds = "
            + condition
            + "; } catch {} holds ? done(true) : setTimeout(look, 20); }; look(); })";
    for (boolean looked = false; !looked; ) {
      try {
        evaluate(look);
        looked = true;
      } catch (AssertionError e) {
        if (!e.toString().contains("navigated")) {
          throw e;
        }
      }
    }
  }

  /** A value of the page, as text. */
  String evaluate(String expression) {
    JsonNode result =
        call(
            "Runtime.evaluate",
            Map.of("expression", expression, "awaitPromise", true, "returnByValue", true));
    if (result.has("exceptionDetails")) {
      throw new AssertionError(expression + ": " + result.path("exceptionDetails"));
    }
    return result.path("result").path("value").asText();
  }

  void screenshot(Path file) throws IOException {
    JsonNode picture =
        call("Page.captureScreenshot", Map.of("format", "png", "captureBeyondViewport", true));
    Files.createDirectories(file.toAbsolutePath().getParent());
    Files.write(file, Base64.getDecoder().decode(picture.path("data").asText()));
  }

  private final class Listener implements WebSocket.Listener {
    private final StringBuilder text = new StringBuilder();

    @Override
    public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
      text.append(data);
      if (last) {
        receive(text.toString());
        text.setLength(0);
      }
      from.request(1);
      return CompletableFuture.completedFuture(null);
    }

    private void receive(String message) {
      JsonNode read;
      try {
        read = JSON.readTree(message);
      } catch (IOException e) {
        throw new AssertionError(e);
      }
      CompletableFuture<JsonNode> answer = answers.remove(read.path("id").asInt(-1));
      if (answer != null) {
        answer.complete(read);
      } else if (read.path("method").asText().equals("Runtime.exceptionThrown")
          || read.path("params").path("entry").path("level").asText().equals("error")) {
        complaints.add(read.path("params").toString());
      }
    }

    @Override
    public CompletionStage<?> onClose(WebSocket from, int code, String reason) {
      fail(new IOException("Chromium has gone: " + reason));
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void onError(WebSocket from, Throwable error) {
      fail(error);
    }

    private void fail(Throwable error) {
      answers.values().forEach(answer -> answer.completeExceptionally(error));
    }
  }

  @Override
  public void close() {
    socket.abort();
    http.shutdownNow();
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly().onExit().join();
  }
}
