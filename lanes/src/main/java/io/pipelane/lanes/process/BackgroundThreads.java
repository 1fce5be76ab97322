package io.pipelane.lanes.process;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Threads on which workers are made ready, each worker on one that it keeps while it stands by: it
 * does one thing after another. Safe for any thread.
 */
final class BackgroundThreads implements AutoCloseable {
  private final List<ExecutorService> threads;

  /** By worker. */
  private final Map<Integer, ExecutorService> taken = new HashMap<>();

  BackgroundThreads(int count) {
    threads =
        Stream.generate(
                () ->
                    Executors.newSingleThreadExecutor(
                        Thread.ofPlatform().daemon().name("worker-standby-builds").factory()))
            .limit(count)
            .toList();
  }

  /**
   * Has something done for a worker once all that was told for it before is done. One that has no
   * thread gets the one that the fewest others have: as many standbys as there are threads never
   * wait for each other, whoever of them was replaced.
   *
   * @param standbys all that stand by now, or will; others' threads are free
   */
  synchronized void execute(int worker, Supplier<Set<Integer>> standbys, Runnable work) {
    Set<Integer> others = standbys.get();
    taken.keySet().removeIf(known -> known != worker && !others.contains(known));
    taken.computeIfAbsent(worker, key -> leastTaken()).execute(work);
  }

  private ExecutorService leastTaken() {
    List<ExecutorService> all = List.copyOf(taken.values());
    return threads.stream()
        .min(Comparator.comparingLong(it -> all.stream().filter(it::equals).count()))
        .orElseThrow();
  }

  /** Waits for what is under way. */
  @Override
  public void close() {
    threads.forEach(ExecutorService::close);
  }
}
