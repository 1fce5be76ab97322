package io.pipelane.loadgen.drive;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.arrival.Arrivals;
import io.pipelane.loadgen.measure.Recorder;
import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.Progress;
import io.pipelane.loadgen.result.Warmth;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.Response;
import io.pipelane.loadgen.settings.Span;
import io.pipelane.loadgen.settings.Window;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
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
   * Warm-up and windows last for a time, by a timer, or until so many requests have come to an end,
   * by the last one's end. Load goes on from window to window. The recorder may call a window the
   * last before all are used. After the last one no more is sent. The run ends when nothing is in
   * flight and no arrival of the windows is left, at the latest one response timeout later.
   */
  private static final long OPENING_NANOS = 30_000_000_000L;
  private static final long SWEEP_NANOS = 100_000_000;
  private static final long PROBE_NANOS = 10_000_000;

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
  private long start;
  private long windowStart = Long.MAX_VALUE;
  private long windowEnd = Long.MAX_VALUE;
  private int windowsEnded;
  private long ended;
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
    this.recorder = new Recorder(test.models(), test.window());
    SplittableRandom random = new SplittableRandom(test.seed());
    this.picker = new RequestPicker(test.choice(), test.models(), random.split());
    this.arrivalsRandom = random.split();
    for (int i = 0; i < test.mode().connections(); i++) {
      clients.add(new Client(this, connections));
    }
  }

  /**
   * Completes with the result, or with a {@link StatusException} when a connection cannot be opened
   * at the beginning, or not all of them are open after half a minute.
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
    at(timeline.nanoTime() + OPENING_NANOS, this::requireBegun);
  }

  /** A server may take connections and close them again, or leave them without a word. */
  private void requireBegun() {
    if (arrivals == null) {
      report.completeExceptionally(
          new StatusException(
              Status.UNAVAILABLE,
              "only %d of %d connections to %s are open after %d s; ask for fewer"
                  .formatted(
                      free.size(),
                      clients.size(),
                      test.endpoint(),
                      TimeUnit.NANOSECONDS.toSeconds(OPENING_NANOS))));
    }
  }

  /**
   * Ends the measurement now, as if its time were over; one that has not begun fails as {@link
   * Status#CANCELLED}. On the run's thread.
   */
  public void end() {
    long now = timeline.nanoTime();
    if (now <= windowStart) {
      report.completeExceptionally(
          new StatusException(Status.CANCELLED, "interrupted before anything was measured"));
    } else if (now < windowEnd) {
      recorder.end(now);
      end(now);
    }
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
      long now = timeline.nanoTime();
      recorder.connectFailed(now, reason);
      ended(now);
    } else {
      report.completeExceptionally(
          new StatusException(
              Status.UNAVAILABLE, "cannot connect to " + test.endpoint() + ": " + reason));
    }
  }

  void answered(
      Client client, Response response, @Nullable String error, Warmth warmth, boolean reusable) {
    long now = timeline.nanoTime();
    inFlight--;
    String kind = error;
    String message = error == null ? "" : ErrorText.of(response.body());
    String complaint = complaint(response);
    if (kind == null && complaint != null) {
      kind = "wrong answer";
      message = complaint;
    }
    if (kind != null) {
      recorder.failed(response.model(), client.intended(), kind, message);
    } else {
      recorder.answered(response.model(), client.intended(), client.sent(), now, warmth);
    }
    if (reusable) {
      free.add(client);
    } else {
      recorder.reconnecting();
    }
    ended(now);
    pump();
    finishWhenDrained();
  }

  void failed(Client client, int model, String kind, String message) {
    inFlight--;
    recorder.failed(model, client.intended(), kind, message);
    recorder.reconnecting();
    ended(timeline.nanoTime());
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
    start = timeline.nanoTime();
    arrivals = Arrivals.of(test.mode(), start, arrivalsRandom);
    if (test.window().warmup() instanceof Span.Time time) {
      beginWindows(start + time.duration().toNanos());
    }
    sweep();
    probe(start);
    pump();
  }

  private void beginWindows(long from) {
    Window window = test.window();
    windowStart = from;
    if (from > timeline.nanoTime()) {
      at(from, () -> recorder.beginWindow(cpu.get()));
    } else {
      recorder.beginWindow(cpu.get());
    }
    switch (window.length()) {
      case Span.Time time -> {
        long windowNanos = time.duration().toNanos();
        recorder.begin(windowStart, windowNanos);
        windowEnd = windowStart + windowNanos * window.maximumWindows();
        at(windowStart + windowNanos, () -> endWindow(windowStart + windowNanos));
      }
      case Span.Requests _ -> recorder.begin(windowStart, 0);
    }
  }

  /** A request, or an attempt to connect, has come to an end: a warm-up or a window may with it. */
  private void ended(long now) {
    Span span = now < windowStart ? test.window().warmup() : test.window().length();
    if (windowsAreOver() || !(span instanceof Span.Requests requests)) {
      return;
    }
    ended++;
    if (ended >= requests.count()) {
      ended = 0;
      if (now < windowStart) {
        beginWindows(now);
      } else {
        endWindow(now);
      }
    }
  }

  private boolean windowsAreOver() {
    return report.isDone() || timeline.nanoTime() >= windowEnd;
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
      int model = arrivals.model() == Arrivals.ANY ? picker.nextModel() : arrivals.model();
      int variant =
          arrivals.variant() == Arrivals.ANY ? picker.nextVariant(model) : arrivals.variant();
      arrivals.take();
      Client client = free.remove();
      recorder.sent(intended, client.freeSince(), now);
      inFlight++;
      client.send(sent++, model, variant, intended, now);
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

  private void endWindow(long boundary) {
    if (boundary > windowEnd) {
      return;
    }
    Window window = test.window();
    ClientCpu used = cpu.get();
    windowsEnded++;
    if (recorder.endWindow(boundary, used) || windowsEnded == window.maximumWindows()) {
      end(boundary);
    } else {
      recorder.beginWindow(used);
      if (window.length() instanceof Span.Time time) {
        long next = boundary + time.duration().toNanos();
        at(next, () -> endWindow(next));
      }
    }
  }

  /** What is meant to leave from a time on is not sent; what left before is waited for. */
  private void end(long boundary) {
    windowEnd = boundary;
    at(windowEnd + test.window().responseTimeout().toNanos(), this::giveUp);
    finishWhenDrained();
  }

  private void finishWhenDrained() {
    if (arrivals == null || inFlight > 0 || report.isDone()) {
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
    publishProgress();
    report.complete(recorder.report(end, cpu.get()));
  }

  /** Sees how punctual the run's thread is, a hundred times a second. */
  private void probe(long due) {
    long now = timeline.nanoTime();
    recorder.timer(due, now, PROBE_NANOS);
    long next = Math.max(due + PROBE_NANOS, now);
    at(next, () -> probe(next));
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
