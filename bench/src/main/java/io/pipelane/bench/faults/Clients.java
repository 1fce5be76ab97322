package io.pipelane.bench.faults;

import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.completion.ThreadEnd;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Clients that ask a server's models over and over, one request at a time each, and compare every
 * answer; of a model that keeps state a client asks one sequence after another. Safe for any
 * thread.
 */
final class Clients implements AutoCloseable {
  private static final long LIMIT_NANOS = 120_000_000_000L;
  private static final long PAUSE_AFTER_FAILURE_NANOS = 1_000_000;

  /** Any model may be asked. */
  private static final int ANY = -1;

  /** What each model answers, step by step. */
  private final List<List<List<Tensor>>> expected = new ArrayList<>();

  private final List<Asked> models;
  private final List<Tensor> inputs;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong tried = new AtomicLong();
  private final AtomicLong right = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();
  private final AtomicLong unanswered = new AtomicLong();
  private final AtomicLong slowestNanos = new AtomicLong();
  private final AtomicLong sequences = new AtomicLong();
  private volatile int alone = ANY;
  private volatile boolean over;

  /** Learns the right answers, then starts the clients. */
  Clients(URI server, List<Asked> models, List<Tensor> inputs, int count)
      throws IOException, InterruptedException {
    this.models = List.copyOf(models);
    this.inputs = List.copyOf(inputs);
    try (InferenceClient first = new InferenceClient(server)) {
      for (Asked model : models) {
        long sequence = sequences.incrementAndGet();
        List<List<Tensor>> answers = new ArrayList<>();
        for (int step = 0; step < model.steps(); step++) {
          answers.add(first.infer(model.name(), inputs, model.parameters(sequence, step)));
        }
        expected.add(answers);
      }
    }
    for (int i = 0; i < count; i++) {
      Random random = new Random(i);
      threads.add(
          Thread.ofPlatform().name("client-" + i).start(() -> askUntilOver(server, random)));
    }
  }

  /**
   * A model that is asked.
   *
   * @param steps of each sequence; 1 of a model that keeps no state
   */
  record Asked(String name, int steps) {
    boolean keepsState() {
      return steps > 1;
    }

    private Map<String, Object> parameters(long sequence, int step) {
      return keepsState()
          ? Map.of(
              "sequence_id", sequence,
              "sequence_start", step == 0,
              "sequence_end", step == steps - 1)
          : Map.of();
    }
  }

  /** The outcome of all requests so far, in counts. */
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

  /** From now on only this model is asked; a sequence of another is not taken to its end. */
  void askAlone(int model) {
    alone = model;
  }

  private void askUntilOver(URI server, Random random) {
    try (InferenceClient client = new InferenceClient(server)) {
      while (!over) {
        int only = alone;
        askSequence(client, only == ANY ? random.nextInt(models.size()) : only);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void askSequence(InferenceClient client, int model) throws InterruptedException {
    long sequence = sequences.incrementAndGet();
    int step = 0;
    while (step < models.get(model).steps()
        && (alone == ANY || alone == model)
        && ask(client, model, sequence, step)) {
      step++;
    }
  }

  /** Answers whether there was an answer. */
  private boolean ask(InferenceClient client, int model, long sequence, int step)
      throws InterruptedException {
    Asked asked = models.get(model);
    tried.incrementAndGet();
    long begin = System.nanoTime();
    try {
      List<Tensor> answer = client.infer(asked.name(), inputs, asked.parameters(sequence, step));
      slowestNanos.accumulateAndGet(System.nanoTime() - begin, Math::max);
      (isSame(answer, expected.get(model).get(step)) ? right : wrong).incrementAndGet();
      return true;
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
      return false;
    }
  }

  /**
   * Waits until the server, or another in its place, answers for all models; nothing of that is
   * counted.
   */
  private void awaitServer(InferenceClient client) throws InterruptedException {
    while (!over) {
      try {
        for (Asked model : models) {
          client.infer(model.name(), inputs, model.parameters(sequences.incrementAndGet(), 0));
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
