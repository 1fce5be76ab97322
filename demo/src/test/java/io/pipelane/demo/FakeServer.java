package io.pipelane.demo;

import ai.onnxruntime.OrtException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.pipelane.config.value.ByteSize;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.plain.PlainSession;
import io.pipelane.demo.plain.Reference;
import io.pipelane.demo.protocol.InferenceMessages;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.demo.report.LedgerRow;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A small protocol server that answers with plain ONNX Runtime sessions. */
final class FakeServer implements DemoServer {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, PlainSession> sessions = new ConcurrentHashMap<>();
  private final List<String> evicted = new ArrayList<>();
  private final AtomicInteger indexCalls = new AtomicInteger();
  private final Map<String, String> refusals;
  private final Runnable whileServing;
  private final ExecutorService executor = Executors.newFixedThreadPool(2);
  private WorkersOverview workers = WorkersOverview.NONE;
  private @Nullable HttpServer http;
  private @Nullable Path repository;

  /** A server whose {@link #awaitStop} runs something and returns. */
  FakeServer(Runnable whileServing) {
    this(whileServing, Map.of());
  }

  /** A server that lists some models as UNAVAILABLE, with reasons. */
  FakeServer(Runnable whileServing, Map<String, String> refusals) {
    this.whileServing = whileServing;
    this.refusals = refusals;
  }

  @Override
  public String device() {
    return "fake";
  }

  @Override
  public Reference reference() {
    return Reference.ON_PROCESSOR;
  }

  @Override
  public URI start(
      Path root, String device, @Nullable String isolation, ByteSize memory, int httpPort)
      throws IOException {
    repository = root;
    InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), httpPort);
    HttpServer server = HttpServer.create(address, 0);
    http = server;
    server.setExecutor(executor);
    server.createContext("/", this::handle);
    server.start();
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  @Override
  public void evict(String model) {
    evicted.add(model);
  }

  List<String> evicted() {
    return evicted;
  }

  @Override
  public List<Weights> weights() {
    return Arrays.stream(DemoModel.values())
        .map(model -> new Weights(model.modelName(), model.byteSize(), 0, 4))
        .toList();
  }

  @Override
  public List<LedgerRow> ledger() {
    return List.of(new LedgerRow("weights", 112_000_000));
  }

  /** Says that models run in a process, and that another one stands by. */
  void runsModelsIn(long pid) {
    workers =
        new WorkersOverview(
            List.of(worker(1, pid, WorkerState.ACTIVE), worker(2, 0, WorkerState.STANDBY)),
            2,
            0,
            "",
            1_500_000);
  }

  private static WorkersOverview.Entry worker(int id, long pid, WorkerState state) {
    return new WorkersOverview.Entry(id, pid, state, 6, List.of(), 6, 0, "fake", 0, 0);
  }

  @Override
  public WorkersOverview workers() {
    return workers;
  }

  @Override
  public void awaitStop() {
    whileServing.run();
  }

  @Override
  public void close() {
    if (http != null) {
      http.stop(0);
    }
    executor.shutdown();
    for (PlainSession session : sessions.values()) {
      try {
        session.close();
      } catch (OrtException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private void handle(HttpExchange exchange) throws IOException {
    String[] path = exchange.getRequestURI().getPath().split("/", -1);
    byte[] body = exchange.getRequestBody().readAllBytes();
    try (exchange) {
      answer(exchange, path, body);
    }
  }

  private void answer(HttpExchange exchange, String[] path, byte[] body) throws IOException {
    try {
      if (path[path.length - 1].equals("infer")) {
        infer(exchange, path[3], body);
      } else if (path[path.length - 1].equals("index")) {
        reply(exchange, JSON.writeValueAsBytes(index()), -1);
      } else {
        reply(exchange, "{\"name\":\"fake\"}".getBytes(StandardCharsets.UTF_8), -1);
      }
    } catch (OrtException | RuntimeException e) {
      byte[] error = JSON.writeValueAsBytes(Map.of("error", String.valueOf(e.getMessage())));
      exchange.sendResponseHeaders(400, error.length);
      exchange.getResponseBody().write(error);
    }
  }

  /** At first one model is still being imported. */
  private ArrayNode index() {
    boolean first = indexCalls.getAndIncrement() == 0;
    ArrayNode index = JSON.createArrayNode();
    for (DemoModel model : DemoModel.values()) {
      String reason = refusals.getOrDefault(model.modelName(), "");
      boolean loading = first && model == DemoModel.PPOCR_REC;
      index
          .addObject()
          .put("name", model.modelName())
          .put("version", "1")
          .put("state", !reason.isEmpty() ? "UNAVAILABLE" : loading ? "LOADING" : "READY")
          .put("reason", reason);
    }
    return index;
  }

  private void infer(HttpExchange exchange, String model, byte[] body)
      throws IOException, OrtException {
    String header = exchange.getRequestHeaders().getFirst(InferenceMessages.JSON_LENGTH_HEADER);
    int jsonLength = header == null ? body.length : Integer.parseInt(header);
    JsonNode request = JSON.readTree(body, 0, jsonLength);
    List<Tensor> inputs = new ArrayList<>();
    int position = jsonLength;
    for (JsonNode input : request.path("inputs")) {
      int size = input.path("parameters").path("binary_data_size").asInt();
      inputs.add(input(input, ByteBuffer.wrap(body, position, size)));
      position += size;
    }
    List<Tensor> outputs = session(model).run(inputs);
    boolean binary = request.path("parameters").path("binary_data_output").asBoolean();
    if (!binary) {
      String json = InferenceMessages.jsonRequest(outputs).replace("\"inputs\"", "\"outputs\"");
      reply(exchange, json.getBytes(StandardCharsets.UTF_8), -1);
      return;
    }
    ObjectNode response = JSON.createObjectNode().put("model_name", model);
    ArrayNode array = response.putArray("outputs");
    ByteArrayOutputStream data = new ByteArrayOutputStream();
    for (Tensor output : outputs) {
      ObjectNode node = array.addObject().put("name", output.name());
      node.put("datatype", output.type().name());
      node.set("shape", JSON.valueToTree(output.shape().toArray()));
      node.putObject("parameters").put("binary_data_size", output.data().remaining());
      byte[] bytes = new byte[output.data().remaining()];
      output.data().get(bytes);
      data.writeBytes(bytes);
    }
    byte[] json = JSON.writeValueAsBytes(response);
    ByteArrayOutputStream reply = new ByteArrayOutputStream();
    reply.writeBytes(json);
    reply.writeBytes(data.toByteArray());
    reply(exchange, reply.toByteArray(), json.length);
  }

  private static Tensor input(JsonNode input, ByteBuffer bytes) throws IOException {
    String name = input.path("name").asText();
    long[] shape = JSON.treeToValue(input.path("shape"), long[].class);
    TensorType type = TensorType.ofName(input.path("datatype").asText());
    if (!input.has("data")) {
      return new Tensor(name, type, Shape.of(shape), bytes);
    }
    return type == TensorType.FP32
        ? Tensor.of(name, JSON.treeToValue(input.path("data"), float[].class), shape)
        : Tensor.of(name, JSON.treeToValue(input.path("data"), long[].class), shape);
  }

  private synchronized PlainSession session(String name) throws OrtException {
    PlainSession session = sessions.get(name);
    if (session == null) {
      DemoModel model =
          Arrays.stream(DemoModel.values())
              .filter(m -> m.modelName().equals(name))
              .findFirst()
              .orElseThrow();
      if (repository == null) {
        throw new IllegalStateException("not started");
      }
      session = new PlainSession(DemoRepository.file(repository, model, 1));
      sessions.put(name, session);
    }
    return session;
  }

  private static void reply(HttpExchange exchange, byte[] body, int jsonLength) throws IOException {
    if (jsonLength >= 0) {
      exchange
          .getResponseHeaders()
          .set(InferenceMessages.JSON_LENGTH_HEADER, Integer.toString(jsonLength));
    }
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
  }
}
