package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.RepeatedTest;

/** Several threads do anything in any order; the accounts are right all the time. */
class DaemonRandomTest extends DaemonTest {
  private static final int THREADS = 4;
  private static final int OPERATIONS = 1_000;

  private final List<ImportedModel> all = new ArrayList<>();

  @RepeatedTest(3)
  void anyOrderOfOperations_keepsTheAccounts() throws Exception {
    long seed = System.nanoTime();
    System.out.println("DaemonRandomTest: seed " + seed);
    registerSome(all, new Random(seed));
    AtomicBoolean over = new AtomicBoolean();
    Future<?> copier =
        threads.submit(
            () -> {
              Random random = new Random(seed - 1);
              while (!over.get() || device.pending() > 0) {
                models.failAt(random.nextInt(20) == 0 ? 8L * random.nextInt(PAGE) : Long.MAX_VALUE);
                completeNext(random);
                Thread.onSpinWait();
              }
            });
    List<Future<?>> workers = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      Random random = new Random(seed + i);
      workers.add(
          threads.submit(
              () -> {
                for (int k = 0; k < OPERATIONS; k++) {
                  operate(random);
                }
              }));
    }
    try {
      for (Future<?> worker : workers) {
        worker.get();
      }
    } catch (Exception e) {
      throw new AssertionError("seed " + seed, e);
    } finally {
      over.set(true);
    }
    copier.get();
    models.failAt(Long.MAX_VALUE);
    assertTrue(device.maximumLent() <= PAGES);
    all.forEach(this::use);
  }

  /** Registers ten models. */
  void registerSome(List<ImportedModel> models, Random random) {
    for (int i = 0; i < 5; i++) {
      models.add(registered("m" + i, 1 + i % 3, 2, i));
      models.add(variant("v" + i));
    }
  }

  /** Carries a copy out. */
  void completeNext(Random random) {
    device.completeNext();
  }

  /** One of the models, the first of them more often. */
  ImportedModel any(Random random) {
    return all.get((int) Math.min(9, Math.abs(random.nextGaussian() * 4)));
  }

  void operate(Random random) {
    ImportedModel model = any(random);
    clock.addAndGet(random.nextInt(100_000_000));
    switch (random.nextInt(20)) {
      case 0 -> reregister(model);
      case 1, 2 -> evict(model);
      case 3 -> roomForRange = random.nextInt(10) == 0;
      case 4, 5, 6 -> daemon.idleLink().fetchAhead(List.of(model.version()));
      case 7 -> wish(model);
      default -> run(model, random);
    }
    daemon.ledger().verify();
  }

  private void run(ImportedModel model, Random random) {
    try (Lease lease = daemon.acquire(model.version())) {
      if (random.nextInt(10) > 0) {
        requireContent(lease, model);
      }
    } catch (StatusException e) {
      boolean expected = e.status() == Status.NOT_FOUND || e.toString().contains("disk is broken");
      if (!expected) {
        throw e;
      }
    }
  }

  private void wish(ImportedModel model) {
    try {
      daemon.idleLink().wish(model.version(), Optional.of(Duration.ofSeconds(1)), Priority.ONLINE);
    } catch (StatusException e) {
      assertEquals(Status.NOT_FOUND, e.status());
    }
  }

  void evict(ImportedModel model) {
    try {
      daemon.evictions().evict(model.version(), 0);
    } catch (StatusException e) {
      assertEquals(Status.NOT_FOUND, e.status());
    }
  }

  /** Only one thread at a time may know that the version is gone before it registers it anew. */
  private void reregister(ImportedModel model) {
    synchronized (model) {
      daemon.deregister(model.version());
      register(model);
    }
  }
}
