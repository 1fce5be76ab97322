package io.pipelane.bench.loads;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.switcher.memory.account.Ledger;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Models that load again and again, taken off the device in between, until it is closed. */
public final class Loading implements AutoCloseable {
  private static final long TICK_NANOS = 2_000_000;

  private final LocalPipelane server;
  private final Scene scene;
  private final List<String> models;
  private final @Nullable Thread thread;
  private final HttpClient http = HttpClient.newHttpClient();
  private volatile boolean closed;
  private volatile @Nullable Exception failure;

  /** Read once the thread has ended. */
  private int loads;

  /** Begins. */
  public Loading(LocalPipelane server, Scene scene, List<String> models) {
    this.server = server;
    this.scene = scene;
    this.models = models;
    thread =
        scene == Scene.QUIET
            ? null
            : Thread.ofPlatform().name("loading").daemon().start(this::repeat);
  }

  private void repeat() {
    try {
      do {
        switch (scene) {
          case QUIET -> {}
          case AHEAD -> ahead();
          case RUNS -> forRuns();
          case SERVICE -> inService();
        }
      } while (!closed);
    } catch (Exception e) {
      failure = e;
    }
  }

  /** All at once, as far as the server brings in at once what is wished for. */
  private void ahead() {
    models.forEach(server::evict);
    models.forEach(server::wish);
    awaitResident(models);
  }

  private void forRuns() {
    for (String model : models) {
      if (!closed || loads == 0) {
        server.evict(model);
        server.warmUp(model);
        loads++;
      }
    }
  }

  private void inService() throws IOException, InterruptedException {
    for (String model : models) {
      if (!closed) {
        post(model, "unload");
        post(model, "load");
        awaitResident(List.of(model));
      }
    }
  }

  private void post(String model, String what) throws IOException, InterruptedException {
    URI address = server.url().resolve("/v2/repository/models/%s/%s".formatted(model, what));
    HttpRequest request =
        HttpRequest.newBuilder(address).POST(HttpRequest.BodyPublishers.noBody()).build();
    HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IllegalStateException(address + " was answered " + answer.body());
    }
  }

  private void awaitResident(List<String> wanted) {
    while (!closed && !areResident(wanted)) {
      LockSupport.parkNanos(TICK_NANOS);
    }
    loads += closed ? 0 : wanted.size();
  }

  private boolean areResident(List<String> wanted) {
    return server.memory().weights().entries().stream()
            .filter(entry -> wanted.contains(entry.model().model()))
            .filter(Loading::isResident)
            .count()
        == wanted.size();
  }

  private static boolean isResident(Ledger.Entry entry) {
    return entry.residentBytes() >= entry.weightBytes() && !entry.arriving();
  }

  /** How many loads have ended; once it is closed. */
  int loads() {
    return loads;
  }

  /**
   * Ends with the load under way, and has all models on the device again.
   *
   * @throws IllegalStateException when one failed
   */
  @Override
  public void close() {
    closed = true;
    if (thread != null) {
      ThreadEnd.await(thread);
    }
    http.close();
    Exception failed = failure;
    if (failed != null) {
      throw new IllegalStateException("a load failed", failed);
    }
    models.forEach(server::warmUp);
  }
}
