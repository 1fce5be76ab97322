package io.pipelane.switcher;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Four threads that ask at the same time. */
final class Clients {
  private static final int COUNT = 4;

  private Clients() {}

  /** Asks once. */
  interface Asking {
    void ask(Random random) throws Exception;
  }

  /**
   * Has each of them ask so many times; waits for all.
   *
   * @param seed of the first one's numbers; each has its own
   */
  static void ask(int times, long seed, Asking asking) throws Exception {
    List<Future<?>> clients = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(COUNT)) {
      for (int c = 0; c < COUNT; c++) {
        Random random = new Random(seed + c);
        clients.add(
            threads.submit(
                () -> {
                  for (int k = 0; k < times; k++) {
                    asking.ask(random);
                  }
                  return null;
                }));
      }
      for (Future<?> client : clients) {
        client.get();
      }
    }
  }
}
