package io.pipelane.bench.faults;

import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.completion.ThreadEnd;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Clients that ask a server's models over and over, one request at a time each, and compare every
 * answer. Safe for any thread.
 */
final class Clients implements AutoCloseable {
  private static final long LIMIT_NANOS = 120_000_000_000L;
  private static final long PAUSE_AFTER_FAILURE_NANOS = 1_000_000;

  private final List<List<Tensor>> expected = new ArrayList<>();
  private final List<String> models;
  private final List<Tensor> inputs;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong tried = new AtomicLong();
  private final AtomicLong right = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();
  private final AtomicLong unanswered = new AtomicLong();
  private final AtomicLong slowestNanos = new AtomicLong();
  private volatile boolean over;

  /** Learns the right answers, then starts the clients. */
  Clients(URI server, List<String> models, List<Tensor> inputs, int count)
      throws IOException, InterruptedException {
    this.models = List.copyOf(models);
    this.inputs = List.copyOf(inputs);
    try (InferenceClient first = new InferenceClient(server)) {
      for (String model : models) {
        expected.add(first.infer(model, inputs));
      }
    }
    for (int i = 0; i < count; i++) {
      Random random = new Random(i);
      threads.add(
          Thread.ofPlatform().name("client-" + i).start(() -> askUntilOver(server, random)));
    }
  }

  /** What came of all requests so far. */
  record Counts(long tried, long right, long wrong, long refused, long unanswered) {
    Counts since(Counts before) {
      return new Counts(
          tried - before.tried,
          right - before.right,
          wrong - before.wrong,
          refused - before.refused,
          unanswered - before.unanswered);
    }
  }

  private void askUntilOver(URI server, Random random) {
    try (InferenceClient client = new InferenceClient(server)) {
      while (!over) {
        ask(client, random.nextInt(models.size()));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void ask(InferenceClient client, int model) throws InterruptedException {
    tried.incrementAndGet();
    long begin = System.nanoTime();
    try {
      List<Tensor> answer = client.infer(models.get(model), inputs);
      slowestNanos.accumulateAndGet(System.nanoTime() - begin, Math::max);
      (isSame(answer, expected.get(model)) ? right : wrong).incrementAndGet();
    } catch (IOException e) {
      boolean answered = String.valueOf(e.getMessage()).contains(" answered ");
      (answered ? refused : unanswered).incrementAndGet();
      if (answered) {
        System.err.println(e.getMessage());
      }
      LockSupport.parkNanos(PAUSE_AFTER_FAILURE_NANOS);
      if (!answered) {
        awaitServer(client);
      }
    }
  }

  /**
   * Waits until the server, or another in its place, answers for all models; nothing of that is
   * counted.
   */
  private void awaitServer(InferenceClient client) throws InterruptedException {
    while (!over) {
      try {
        for (String model : models) {
          client.infer(model, inputs);
        }
        return;
      } catch (IOException e) {
        LockSupport.parkNanos(PAUSE_AFTER_FAILURE_NANOS);
      }
    }
  }

  private static boolean isSame(List<Tensor> answer, List<Tensor> expected) {
    boolean same = answer.size() == expected.size();
    for (int i = 0; same && i < answer.size(); i++) {
      same = answer.get(i).data().equals(expected.get(i).data());
    }
    return same;
  }

  Counts counts() {
    return new Counts(tried.get(), right.get(), wrong.get(), refused.get(), unanswered.get());
  }

  /** Forgets the slowest answer so far. */
  void forgetSlowest() {
    slowestNanos.set(0);
  }

  /** The slowest answer since then, in milliseconds. */
  double slowestMillis() {
    return slowestNanos.get() / 1e6;
  }

  /**
   * Waits until so many more requests have been answered rightly.
   *
   * @throws IOException when none is for minutes
   */
  void awaitRight(long more) throws IOException {
    long until = right.get() + more;
    long last = right.get();
    long since = System.nanoTime();
    while (right.get() < until) {
      if (right.get() != last) {
        last = right.get();
        since = System.nanoTime();
      } else if (System.nanoTime() - since > LIMIT_NANOS) {
        throw new IOException("no request has been answered rightly for minutes: " + counts());
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Override
  public void close() {
    over = true;
    threads.forEach(ThreadEnd::await);
  }
}
