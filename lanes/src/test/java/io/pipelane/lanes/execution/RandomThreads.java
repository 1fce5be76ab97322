package io.pipelane.lanes.execution;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;

/** Threads that do the same at random, at the same time. */
final class RandomThreads {
  private static final int COUNT = 4;

  private RandomThreads() {}

  /** Runs some and waits for them; an error of one says with which seed. */
  static void run(Consumer<Random> work) {
    long seed = System.nanoTime();
    List<Future<?>> all = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(COUNT)) {
      for (int i = 0; i < COUNT; i++) {
        Random random = new Random(seed + i);
        all.add(threads.submit(() -> work.accept(random)));
      }
    }
    for (Future<?> thread : all) {
      try {
        thread.get();
      } catch (Exception e) {
        throw new AssertionError("seed " + seed, e);
      }
    }
  }
}
