package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.hosts.BareHost;
import io.pipelane.server.hosts.FakeRegistry;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.metrics.JobCounts;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** A server that forwards to hosts which answer what the test says. */
@Timeout(60)
abstract class ForwardingFixture {
  static final int CODEC_THREADS = 2;

  static final String OK = "{\"answer\":\"elsewhere\"}";

  static final String ECHO =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[1,2,3,4]}]}";

  final FakeRegistry registry = new FakeRegistry();

  final BareHost first = host();

  final BareHost second = host();

  final HttpClient client = HttpClient.newHttpClient();

  final FakeCatalog catalog = FakeCatalog.usual();

  final CountDownLatch gathering = new CountDownLatch(CODEC_THREADS);

  final CountDownLatch goOn = new CountDownLatch(1);

  volatile long stallNanos;

  volatile long patienceNanos;

  Hosts hosts = registry.hosts();

  HttpServer server = start(Transport.AUTO);

  static BareHost host() {
    try {
      return new BareHost();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  HttpServer start(Transport transport) {
    LocalLoad load = new LocalLoad(timed(EchoService.inline()), _ -> stallNanos, () -> 1);
    return start(transport, load, Backends.of(catalog, load, this::jobCounts));
  }

  /** Keeps how long the client of the latest request would wait. */
  InferenceService timed(EchoService echo) {
    return (request, handler) -> {
      patienceNanos = request.patienceNanos(System.nanoTime());
      return echo.submit(request, handler);
    };
  }

  HttpServer start(Transport transport, LocalLoad load, Backend backend) {
    HttpServer started =
        HttpServer.start(
            settings(transport),
            backend,
            Optional.of(hosts),
            new TransferMemory(Arena.ofAuto().allocate(1 << 20)));
    hosts.start(URI.create(started.url()), started.transport(), catalog, load);
    return started;
  }

  static HttpSettings settings(Transport transport) {
    return new HttpSettings(
        "127.0.0.1", 0, transport, 1, 1 << 24, 64, Duration.ofSeconds(30), Optional.empty());
  }

  /** A part of the metrics, which a codec thread gathers. */
  JobCounts jobCounts() {
    gathering.countDown();
    try {
      goOn.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return JobCounts.NONE;
  }

  void restart(Hosts other, Transport transport) {
    server.close();
    hosts = other;
    server = start(transport);
  }

  @AfterEach
  void end() {
    client.close();
    server.close();
    hosts.close();
    first.close();
    second.close();
    assertTrue(registry.isClosed());
  }

  /** Both hosts have a model that this one has not; the first one is asked first. */
  void bothHave(String model, boolean keepsState) {
    registry.has(first.url(), model, 1, keepsState, Duration.ZERO);
    registry.has(second.url(), model, 1, keepsState, Duration.ofMillis(5));
  }

  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(server.url() + path)).version(Version.HTTP_1_1);
  }

  HttpRequest.Builder infer(String model, String body) {
    return request("/v2/models/" + model + "/infer").POST(BodyPublishers.ofString(body));
  }

  HttpResponse<String> ask(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), BodyHandlers.ofString(StandardCharsets.ISO_8859_1));
  }

  HttpResponse<String> ask(String model) throws Exception {
    return ask(infer(model, "{}"));
  }

  long counted(BareHost host, String outcome) {
    return counted(host.url(), outcome);
  }

  long counted(URI host, String outcome) {
    return FakeRegistry.counted(hosts, host, outcome);
  }
}
