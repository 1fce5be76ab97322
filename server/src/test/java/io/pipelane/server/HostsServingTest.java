package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.pipelane.lanes.process.Signals;
import io.pipelane.modelstore.ChildJvm;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.cli.Pipelane;
import io.pipelane.server.hosts.Etcd;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** Three servers in processes of their own that find each other in etcd; skipped without it. */
@Timeout(120)
class HostsServingTest {
  private static final int HOSTS = 3;
  private static final int CLIENTS = 8;
  private static final int WIDTH = 32;
  private static final String HTTP = "Listening on ";
  private static final String GRPC = "Listening for gRPC on ";
  private static final String INPUT =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,%d],\"data\":%s}]}"
          .formatted(WIDTH, Collections.nCopies(WIDTH, 0.5));

  /** Has the hosts' logs, which stay when a test fails. */
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  private Path folder = Path.of("");

  private final HttpClient http = HttpClient.newHttpClient();
  private final List<Process> processes = new ArrayList<>();
  private final List<String> urls = new ArrayList<>();
  private final List<ManagedChannel> channels = new ArrayList<>();
  private final Patience patience = Patience.begin();
  private @Nullable Etcd etcd;

  @BeforeAll
  static void needEtcd() throws InterruptedException {
    Etcd.assumeInstalled();
  }

  /** Model m0 is on hosts 0 and 2, m1 on 0 and 1, m2 on 1 and 2. */
  @BeforeEach
  void startHosts() throws Exception {
    Etcd started = Etcd.start(Files.createDirectory(folder.resolve("etcd")));
    etcd = started;
    int[][] having = {{0, 2}, {0, 1}, {1, 2}};
    for (int model = 0; model < having.length; model++) {
      for (int host : having[model]) {
        Path file = folder.resolve("models-%d/m%d/1/model.onnx".formatted(host, model));
        TestModels.write(TestModels.chain(4, WIDTH, model), file);
      }
    }
    for (int host = 0; host < HOSTS; host++) {
      processes.add(startHost(host, started.url()));
    }
    for (int host = 0; host < HOSTS; host++) {
      Path log = log(host);
      patience.awaitTrue("host " + log + " listens", () -> address(log, GRPC).isPresent());
      urls.add(address(log, HTTP).orElseThrow());
      channels.add(
          NettyChannelBuilder.forTarget(address(log, GRPC).orElseThrow()).usePlaintext().build());
    }
    for (String url : urls) {
      for (int model = 0; model < having.length; model++) {
        String name = "m" + model;
        patience.awaitTrue(
            url + " answers for " + name, () -> infer(url, name).statusCode() == 200);
      }
      patience.awaitTrue(
          url + " knows the others", () -> metric(url, "pipelane_hosts") == HOSTS - 1);
    }
  }

  private Path log(int host) {
    return folder.resolve("host-" + host + ".log");
  }

  private Process startHost(int host, URI registry) throws IOException {
    List<String> arguments =
        List.of(
            "serve",
            "--repository.path=" + folder.resolve("models-" + host),
            "--repository.cache=" + SharedCache.folder(),
            "--server.http-port=0",
            "--server.grpc-port=0",
            "--device.memory=16MiB",
            "--device.lanes=1",
            "--hosts.etcd=" + registry,
            "--hosts.lease=2s",
            "--hosts.announce-every=50ms");
    return ChildJvm.program(
            "exec \"$@\"", List.of(), List.of("-Xmx256m"), Pipelane.class, arguments)
        .redirectErrorStream(true)
        .redirectOutput(log(host).toFile())
        .start();
  }

  private static Optional<String> address(Path log, String said) throws IOException {
    return Files.readAllLines(log).stream()
        .filter(line -> line.startsWith(said))
        .map(line -> line.substring(said.length()))
        .findFirst();
  }

  @AfterEach
  void endHosts() throws Exception {
    channels.forEach(ManagedChannel::shutdownNow);
    for (Process process : processes) {
      process.destroyForcibly().waitFor();
    }
    if (etcd != null) {
      etcd.close();
    }
    http.close();
  }

  @Test
  void hostKilledUnderLoad_everyRequestIsAnsweredAndRightly() throws Exception {
    Map<String, String> expected = new ConcurrentHashMap<>();
    for (String model : List.of("m0", "m1", "m2")) {
      expected.put(model, infer(urls.getFirst(), model).body());
      assertEquals(expected.get(model), infer(urls.get(1), model).body());
    }
    assertEquals(404, infer(urls.getFirst(), "unknown").statusCode());
    killUnderLoad(
        (number, model) -> {
          HttpResponse<String> answer = infer(urls.get(number % 2), model);
          assertEquals(200, answer.statusCode(), answer::body);
          assertEquals(expected.get(model), answer.body());
        });
  }

  /** The same over gRPC: a call that is not answered throws. */
  @Test
  void hostKilledUnderLoadOfCalls_everyCallIsAnsweredAndRightly() throws Exception {
    Map<String, ModelInferResponse> expected = new ConcurrentHashMap<>();
    double before = forwardedBy(urls.getFirst());
    for (String model : List.of("m0", "m1", "m2")) {
      expected.put(model, call(0, model));
      assertEquals(expected.get(model), call(1, model));
    }
    assertTrue(forwardedBy(urls.getFirst()) > before, "m2 is not on the first host");
    assertEquals(
        Code.NOT_FOUND,
        assertThrows(StatusRuntimeException.class, () -> call(0, "unknown")).getStatus().getCode());
    killUnderLoad((number, model) -> assertEquals(expected.get(model), call(number % 2, model)));
  }

  /** Asks once for a model. */
  private interface Asking {
    void ask(int client, String model) throws Exception;
  }

  private void killUnderLoad(Asking asking) throws Exception {
    AtomicBoolean ending = new AtomicBoolean();
    AtomicInteger answered = new AtomicInteger();
    List<Future<Integer>> clients = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int client = 0; client < CLIENTS; client++) {
        int number = client;
        clients.add(
            threads.submit(
                () -> {
                  int asked = 0;
                  for (; !ending.get(); asked++) {
                    String model = "m" + (asked + number) % 3;
                    asking.ask(number, model);
                    answered.incrementAndGet();
                  }
                  return asked;
                }));
      }
      try {
        patience.awaitTrue(
            "the third host answers some",
            () -> forwardedTo(urls.get(2), "answered") > 100 || ended(clients));
        Signals.send("KILL", processes.get(2).pid());
        int before = answered.get();
        patience.awaitTrue(
            "the others go on without it",
            () ->
                (answered.get() > before + 500
                        && metric(urls.getFirst(), "pipelane_hosts") == 1
                        && metric(urls.get(1), "pipelane_hosts") == 1)
                    || ended(clients));
      } finally { // Or they ask for ever, and nobody is told what went wrong.
        ending.set(true);
      }
      for (Future<Integer> client : clients) {
        assertTrue(client.get() > 0);
      }
    }
    System.out.printf(
        "%d answers, %.0f requests lost with the host and asked again%n",
        answered.get(), forwardedTo(urls.get(2), "lost"));
    assertFalse(processes.get(2).isAlive());
  }

  private static boolean ended(List<Future<Integer>> clients) {
    return clients.stream().anyMatch(Future::isDone);
  }

  /** Requests that the first two hosts have given to a third. */
  private double forwardedTo(String url, String outcome) throws Exception {
    String name =
        "pipelane_forwarded_requests_total{host=\"%s\",outcome=\"%s\"}"
            .formatted(URI.create(url).getAuthority(), outcome);
    return metric(urls.getFirst(), name) + metric(urls.get(1), name);
  }

  private double metric(String url, String name) throws Exception {
    String text = get(url + "/metrics").body();
    Matcher line = Pattern.compile("(?m)^" + Pattern.quote(name) + " (\\S+)$").matcher(text);
    return line.find() ? Double.parseDouble(line.group(1)) : 0;
  }

  /** Requests that a host has given to any other. */
  private double forwardedBy(String url) throws Exception {
    String text = get(url + "/metrics").body();
    Pattern line = Pattern.compile("(?m)^pipelane_forwarded_requests_total\\{.*} (\\S+)$");
    return line.matcher(text)
        .results()
        .mapToDouble(each -> Double.parseDouble(each.group(1)))
        .sum();
  }

  private HttpResponse<String> get(String url) throws Exception {
    return http.send(HttpRequest.newBuilder(URI.create(url)).build(), BodyHandlers.ofString());
  }

  private HttpResponse<String> infer(String url, String model) throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create(url + "/v2/models/" + model + "/infer"))
            .POST(BodyPublishers.ofString(INPUT))
            .build(),
        BodyHandlers.ofString());
  }

  private ModelInferResponse call(int host, String model) {
    ByteBuffer values = ByteBuffer.allocate(4 * WIDTH).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < WIDTH; i++) {
      values.putFloat(0.5f);
    }
    return GRPCInferenceServiceGrpc.newBlockingStub(channels.get(host))
        .withDeadlineAfter(60, TimeUnit.SECONDS)
        .modelInfer(
            ModelInferRequest.newBuilder()
                .setModelName(model)
                .addInputs(
                    InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("FP32")
                        .addShape(1)
                        .addShape(WIDTH))
                .addRawInputContents(ByteString.copyFrom(values.flip()))
                .build());
  }
}
