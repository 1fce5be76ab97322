package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.TestDevices;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.RepositoryPoll;
import io.pipelane.server.protocol.RequestPriority;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A folder of models in the hands of a test, and what clients of its server see. */
final class OwnedRepository implements AutoCloseable {
  static final int WIDTH = 32;

  static final String REQUEST =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,%d],\"data\":[%s]}]}"
          .formatted(
              WIDTH,
              IntStream.range(0, WIDTH)
                  .mapToObj(i -> Double.toString(Math.sin(i)))
                  .collect(Collectors.joining(",")));

  private final Path models;
  private final Path cache;
  private final HttpClient http = HttpClient.newHttpClient();

  OwnedRepository(Path folder) throws IOException {
    this(folder, SharedCache.folder());
  }

  /** One whose servers keep what they know of it in a cache of its own. */
  OwnedRepository(Path folder, Path cache) throws IOException {
    this.models = Files.createDirectories(folder.resolve("models"));
    this.cache = cache;
  }

  Path path(String inside) {
    return models.resolve(inside);
  }

  Path cache() {
    return cache;
  }

  /** Writes a version whose weights follow from a seed. */
  void model(String model, long version, long seed) throws IOException {
    TestModels.write(
        TestModels.chain(2, WIDTH, seed), path("%s/%d/model.onnx".formatted(model, version)));
  }

  void text(String inside, String text) throws IOException {
    Files.createDirectories(path(inside).getParent());
    Files.writeString(path(inside), text);
  }

  void remove(String inside) throws IOException {
    try (var files = Files.walk(path(inside))) {
      for (Path file : files.sorted((a, b) -> b.compareTo(a)).toList()) {
        Files.delete(file);
      }
    }
  }

  PipelaneServer start() {
    return start(Map.of());
  }

  PipelaneServer start(Map<String, String> more) {
    Map<String, String> settings =
        new HashMap<>(
            Map.of(
                "repository.path",
                models.toString(),
                "repository.cache",
                cache.toString(),
                "device.memory",
                "8MiB",
                "server.http-port",
                "0"));
    settings.putAll(more);
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(TestDevices.settings(settings)));
    server.imports().join();
    return server;
  }

  /** Looks at the folder when the test says so, for a server that has just been started. */
  RepositoryPoll poll(PipelaneServer server) {
    return new RepositoryPoll(new Repository(models)::stamps, server.catalog()::reload);
  }

  /** Looks twice, so that a change is followed. */
  static void follow(RepositoryPoll poll) {
    poll.look().join();
    poll.look().join();
  }

  /**
   * Asks what a path below {@code /v2/models} names, such as {@code small} or {@code
   * small/versions/1}.
   */
  HttpResponse<String> ask(PipelaneServer server, String model) throws Exception {
    return post(server, "models/" + model + "/infer", REQUEST);
  }

  HttpResponse<String> post(PipelaneServer server, String path, String body) throws Exception {
    return send(
        HttpRequest.newBuilder(URI.create(server.url() + "/v2/" + path))
            .POST(BodyPublishers.ofString(body)));
  }

  HttpResponse<String> get(PipelaneServer server, String path) throws Exception {
    return send(HttpRequest.newBuilder(URI.create(server.url() + "/v2/" + path)));
  }

  HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return http.send(request.build(), BodyHandlers.ofString());
  }

  /** The data of a model's answer, which tells which content gave it. */
  String answer(PipelaneServer server, String model) throws Exception {
    HttpResponse<String> response = ask(server, model);
    assertEquals(200, response.statusCode(), response.body());
    return data(response.body());
  }

  /** The same of offline requests, each of which may be told to come again. */
  String answerOffline(PipelaneServer server, String model) throws Exception {
    URI address = URI.create(server.url() + "/v2/models/" + model + "/infer");
    while (true) {
      HttpResponse<String> response =
          send(
              HttpRequest.newBuilder(address)
                  .header(RequestPriority.HEADER, "offline")
                  .POST(BodyPublishers.ofString(REQUEST)));
      if (response.statusCode() == 200) {
        return data(response.body());
      }
      assertEquals(503, response.statusCode(), response.body());
      assertTrue(response.headers().firstValue("retry-after").isPresent(), response.body());
    }
  }

  static String data(String body) {
    return body.substring(body.indexOf("\"data\":"));
  }

  /**
   * Requires that every answer is one of the contents'. On a GPU it need not be so to the bit: a
   * product of more rows, where requests ran together, adds up in another order.
   */
  static void requireKnown(Set<String> contents, List<String> answers) {
    List<double[]> known = contents.stream().map(OwnedRepository::numbers).toList();
    for (String answer : Set.copyOf(answers)) {
      double[] numbers = numbers(answer);
      assertTrue(
          known.stream().anyMatch(content -> areClose(content, numbers)),
          () -> answer + " is none of " + contents);
    }
  }

  private static boolean areClose(double[] expected, double[] answer) {
    return expected.length == answer.length
        && IntStream.range(0, expected.length)
            .allMatch(i -> Math.abs(expected[i] - answer[i]) < 2e-3);
  }

  private static double[] numbers(String data) {
    String list = data.substring(data.indexOf('[') + 1, data.indexOf(']'));
    return Arrays.stream(list.split(",")).mapToDouble(Double::parseDouble).toArray();
  }

  static List<Entry> index(PipelaneServer server, String model) {
    return server.catalog().index().stream().filter(entry -> entry.name().equals(model)).toList();
  }

  /** What is done to a model while clients ask. */
  interface Change {
    void make() throws Exception;
  }

  /**
   * Has clients ask while a change is made; every request must be answered.
   *
   * @return all answers
   */
  List<String> askWhile(PipelaneServer server, List<String> models, Change change)
      throws Exception {
    List<Callable<String>> asking = new ArrayList<>();
    models.forEach(model -> asking.add(() -> answer(server, model)));
    return askWhile(asking, change);
  }

  /** The same of clients that ask in their own ways. */
  List<String> askWhile(List<Callable<String>> asking, Change change) throws Exception {
    AtomicBoolean over = new AtomicBoolean();
    List<String> answers = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(asking.size())) {
      List<Future<?>> clients = new ArrayList<>();
      for (Callable<String> client : asking) {
        clients.add(
            threads.submit(
                () -> {
                  while (!over.get()) {
                    String answer = client.call();
                    synchronized (answers) {
                      answers.add(answer);
                    }
                  }
                  return null;
                }));
      }
      CompletableFuture<Void> changed =
          CompletableFuture.runAsync(
              () -> {
                try {
                  change.make();
                } catch (Exception | Error e) {
                  throw new IllegalStateException(e);
                } finally {
                  over.set(true);
                }
              });
      for (Future<?> client : clients) {
        client.get();
      }
      changed.join();
    }
    return answers;
  }

  @Override
  public void close() {
    http.close();
  }
}
