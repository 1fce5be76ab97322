package io.pipelane.loadgen;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * Answers as DJL Serving does, for a model that gives its inputs back: its own route, which takes
 * and gives a NumPy archive; the protocol's routes, in JSON only; errors with code, type and
 * message, behind which it closes the connection.
 */
final class DjlStandIn implements AutoCloseable {
  static final String MODEL = "identity";

  private static final String METADATA =
      """
      {"name":"identity","versions":["1"],"platform":"onnx_onnxv1",
       "inputs":[{"name":"x","datatype":"FP32","shape":[-1,3]},
                 {"name":"ids","datatype":"INT64","shape":[-1]}],
       "outputs":[{"name":"x","datatype":"FP32","shape":[-1,3]}]}
      """;

  final AtomicInteger predictions = new AtomicInteger();
  final AtomicInteger inferences = new AtomicInteger();

  /** Names of the arrays that came, in their order. */
  final ConcurrentHashMap.KeySetView<List<String>, Boolean> arrays = ConcurrentHashMap.newKeySet();

  private final ScriptedServer server;
  private final boolean isOverloaded;

  /**
   * @param isOverloaded whether no worker of the model is ever free
   */
  DjlStandIn(boolean isOverloaded) throws IOException {
    this.isOverloaded = isOverloaded;
    this.server = new ScriptedServer(this::answer);
  }

  URI url() {
    return server.url();
  }

  /** Connections so far. */
  int accepted() {
    return server.accepted.get();
  }

  @Override
  public void close() throws IOException {
    server.close();
  }

  private Optional<String> answer(ScriptedServer.Request request) {
    String[] line = request.startLine().split(" ", -1);
    return switch (line[0] + " " + line[1]) {
      case "GET /v2/models/" + MODEL -> json(METADATA);
      case "POST /v2/models/" + MODEL + "/infer" -> infer(request);
      case "POST /predictions/" + MODEL -> predict(request);
      default -> error(404, "ResourceNotFoundException", "Requested resource is not found");
    };
  }

  private Optional<String> infer(ScriptedServer.Request request) {
    if (!request.header("content-type").equals("application/json")) {
      return error(400, "BadRequestException", "Failed parse input as JSON");
    }
    inferences.incrementAndGet();
    return json("{\"model_name\":\"identity\",\"outputs\":[]}");
  }

  private Optional<String> predict(ScriptedServer.Request request) {
    if (isOverloaded) {
      return error(503, "ServiceUnavailableException", "All model workers has been shutdown");
    }
    byte[] body = request.body().getBytes(StandardCharsets.ISO_8859_1);
    if (!request.header("content-type").equals("tensor/npz")
        || !request.header("accept").equals("tensor/npz")) {
      return error(400, "TranslateException", "Input is not a NDList data type");
    }
    try {
      arrays.add(arrayNames(body));
    } catch (IOException e) {
      return error(400, "TranslateException", "Malformed npz: " + e.getMessage());
    }
    predictions.incrementAndGet();
    return ScriptedServer.answer(
        200, "content-type: tensor/npz\r\nconnection: keep-alive\r\n", request.body());
  }

  private static List<String> arrayNames(byte[] archive) throws IOException {
    List<String> names = new ArrayList<>();
    try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(archive))) {
      for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        String start = new String(zip.readAllBytes(), 0, 6, StandardCharsets.ISO_8859_1);
        if (!entry.getName().endsWith(".npy") || !start.equals("\u0093NUMPY")) {
          throw new IOException(entry.getName() + " is no array");
        }
        names.add(entry.getName().replace(".npy", ""));
      }
    }
    return names;
  }

  private static Optional<String> json(String body) {
    return ScriptedServer.answer(200, "content-type: application/json\r\n", body + "\n");
  }

  private static Optional<String> error(int code, String type, String message) {
    return ScriptedServer.answer(
        code,
        "content-type: application/json\r\nconnection: close\r\n",
        "{\n  \"code\": %d,\n  \"type\": \"%s\",\n  \"message\": \"%s\"\n}\n"
            .formatted(code, type, message));
  }
}
