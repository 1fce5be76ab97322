package io.pipelane.loadgen.drive;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.Progress;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.Response;
import io.pipelane.loadgen.settings.Window;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One run of a load test, from opening the connections to the report. */
public final class LoadRun {
  /*
   * Everything but the constructor, report() and progress() happens on the timeline's one thread,
   * so there are no locks.
   *
   * There is no queue of requests that wait: those of an open loop are the arrivals that are due
   * and not taken. pump() gives the next one to the client that has been free longest, whenever one
   * of the two may have become available: at a timer, an answer, a new connection. Models are drawn
   * in sending order, which is the order of arrival.
   *
   * The run ends when nothing is in flight and no arrival of the window is left, at the latest one
   * response timeout after the window.
   */
  private static final long SWEEP_NANOS = 100_000_000;

  private final LoadTest test;
  private final Timeline timeline;
  private final Supplier<ClientCpu> cpu;
  private final Recorder recorder;
  private final RequestPicker picker;
  private final SplittableRandom arrivalsRandom;
  private final List<Client> clients = new ArrayList<>();
  private final Deque<Client> free = new ArrayDeque<>();
  private final CompletableFuture<LoadReport> report = new CompletableFuture<>();
  private volatile Progress progress = Progress.NONE;

  private @Nullable Arrivals arrivals;
  private @Nullable ClientCpu cpuAtStart;
  private @Nullable ClientCpu cpuInWindow;
  private long start;
  private long windowStart;
  private long windowEnd;
  private boolean timerArmed;
  private int inFlight;
  private long sent;

  /**
   * Prepares a run.
   *
   * @param cpu reads the CPU time used so far; called on the run's thread
   */
  public LoadRun(
      LoadTest test, Timeline timeline, Connection.Factory connections, Supplier<ClientCpu> cpu) {
    this.test = test;
    this.timeline = timeline;
    this.cpu = cpu;
    this.recorder = new Recorder(test.models());
    SplittableRandom random = new SplittableRandom(test.seed());
    this.picker = new RequestPicker(test.choice(), test.models(), random.split());
    this.arrivalsRandom = random.split();
    for (int i = 0; i < test.mode().connections(); i++) {
      clients.add(new Client(this, connections));
    }
  }

  /**
   * Completes with the result, or with a {@link StatusException} when a connection cannot be opened
   * at the beginning.
   */
  public CompletableFuture<LoadReport> report() {
    return report;
  }

  /** How far the run is, at most a tenth of a second old; from any thread. */
  public Progress progress() {
    return progress;
  }

  /** Opens the connections and begins when all are there; on the run's thread. */
  public void start() {
    clients.forEach(Client::open);
  }

  void ready(Client client) {
    free.add(client);
    if (arrivals != null) {
      pump();
    } else if (free.size() == clients.size()) {
      begin();
    }
  }

  void refused(String reason) {
    if (arrivals != null) {
      recorder.connectFailed(timeline.nanoTime(), reason);
    } else {
      report.completeExceptionally(
          new StatusException(
              Status.UNAVAILABLE, "cannot connect to " + test.url() + ": " + reason));
    }
  }

  void answered(Client client, Response response, boolean reusable) {
    long now = timeline.nanoTime();
    inFlight--;
    String kind = null;
    String message = "";
    if (response.status() < 200 || response.status() > 299) {
      kind = "HTTP " + response.status();
      message = ErrorText.of(response.body());
    }
    String complaint = complaint(response);
    if (kind == null && complaint != null) {
      kind = "wrong answer";
      message = complaint;
    }
    if (kind != null) {
      recorder.failed(response.model(), client.intended(), kind, message);
    } else {
      recorder.answered(response.model(), client.intended(), client.sent(), now);
    }
    if (reusable) {
      free.add(client);
    } else {
      recorder.reconnecting();
    }
    pump();
    finishWhenDrained();
  }

  void failed(Client client, int model, String kind, String message) {
    inFlight--;
    recorder.failed(model, client.intended(), kind, message);
    recorder.reconnecting();
    finishWhenDrained();
  }

  void lostIdle(Client client) {
    free.remove(client);
    recorder.reconnecting();
  }

  long nanoTime() {
    return timeline.nanoTime();
  }

  private void begin() {
    Window window = test.window();
    start = timeline.nanoTime();
    windowStart = start + window.warmup().toNanos();
    windowEnd = windowStart + window.duration().toNanos();
    recorder.window(windowStart, windowEnd);
    arrivals = Arrivals.of(test.mode(), start, arrivalsRandom);
    at(windowStart, () -> cpuAtStart = cpu.get());
    at(windowEnd, this::endWindow);
    at(windowEnd + window.responseTimeout().toNanos(), this::giveUp);
    sweep();
    pump();
  }

  private void pump() {
    if (arrivals == null || report.isDone()) {
      return;
    }
    while (!free.isEmpty() && recorder.measured() < test.window().requestLimit()) {
      long now = timeline.nanoTime();
      long intended = arrivals.peek(now);
      if (intended >= windowEnd) {
        return;
      }
      if (intended > now) {
        wakeAt(intended);
        return;
      }
      arrivals.take();
      Client client = free.remove();
      recorder.sent(intended, client.freeSince(), now);
      inFlight++;
      int model = picker.nextModel();
      client.send(sent++, model, picker.nextVariant(model), intended, now);
    }
  }

  private void wakeAt(long nanoTime) {
    if (!timerArmed) {
      timerArmed = true;
      at(
          nanoTime,
          () -> {
            timerArmed = false;
            pump();
          });
    }
  }

  private void endWindow() {
    cpuInWindow = cpuUsed();
    finishWhenDrained();
  }

  private void finishWhenDrained() {
    if (arrivals == null || inFlight > 0) {
      return;
    }
    long now = timeline.nanoTime();
    if (recorder.measured() >= test.window().requestLimit()) {
      finish(Math.min(now, windowEnd));
    } else if (now >= windowEnd && arrivals.peek(now) >= windowEnd) {
      finish(windowEnd);
    }
  }

  private void giveUp() {
    if (arrivals == null) {
      return;
    }
    for (Client client : clients) {
      client.expire(Long.MAX_VALUE);
    }
    long now = timeline.nanoTime();
    while (recorder.measured() < test.window().requestLimit() && arrivals.peek(now) < windowEnd) {
      recorder.unsent(arrivals.peek(now));
      arrivals.take();
    }
    finish(windowEnd);
  }

  private void finish(long end) {
    ClientCpu used = cpuInWindow == null ? cpuUsed() : cpuInWindow;
    publishProgress();
    report.complete(recorder.report(end, used));
  }

  private ClientCpu cpuUsed() {
    ClientCpu now = cpu.get();
    return now.minus(cpuAtStart == null ? now : cpuAtStart);
  }

  /** Closes connections whose answer is overdue, and publishes the progress, ten times a second. */
  private void sweep() {
    long now = timeline.nanoTime();
    long oldest = now - test.window().responseTimeout().toNanos();
    for (Client client : clients) {
      client.expire(oldest);
    }
    publishProgress();
    at(now + SWEEP_NANOS, this::sweep);
  }

  private void publishProgress() {
    long now = timeline.nanoTime();
    progress =
        new Progress(
            Duration.ofNanos(now - start),
            now >= windowStart,
            recorder.answered(),
            recorder.errors(),
            inFlight);
  }

  private @Nullable String complaint(Response response) {
    try {
      return test.check().complaint(response).orElse(null);
    } catch (RuntimeException e) {
      return "the check itself failed: " + e;
    }
  }

  private void at(long nanoTime, Runnable task) {
    timeline.at(
        nanoTime,
        () -> {
          try {
            if (!report.isDone()) {
              task.run();
            }
          } catch (RuntimeException | Error e) {
            report.completeExceptionally(e);
          }
        });
  }
}
