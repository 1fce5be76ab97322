package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.ResidencyConfig;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.PeerMemory.Missed;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two devices of ten pages each, which read each other's memory; the test's own is the first. */
class PeerMemoryTest extends DaemonTest {
  private static final int RUNS = 2_000;

  private final FakeDevice otherDevice = new FakeDevice(PAGES);
  private final FakeModels otherModels = new FakeModels();
  private final MemoryDaemon other =
      new MemoryDaemon(
          otherDevice,
          (long) PAGES * PAGE,
          otherModels,
          new EqualBytesGrouping(100, 1),
          structure -> false,
          ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
          clock::get);

  @BeforeEach
  void readEachOther() {
    daemon.peers().readFrom(other.peers(), device.readsPagesOf(otherDevice).orElseThrow());
    other.peers().readFrom(daemon.peers(), otherDevice.readsPagesOf(device).orElseThrow());
    assertTrue(daemon.peers().reads(other.peers()));
    assertFalse(daemon.peers().reads(daemon.peers()));
  }

  @AfterEach
  void othersAccountsAreRight() {
    otherDevice.completeAll();
    other.ledger().verify();
    other.close(); // Waits for pages that are still lent.
    otherModels.assertAllClosed();
    assertEquals(0, otherDevice.openRanges());
  }

  /** On both devices. */
  private ImportedModel both(String name, int... pagesPerSegment) {
    ImportedModel model = registered(name, pagesPerSegment);
    other.register(model);
    return model;
  }

  private void useThere(ImportedModel model) {
    try (Lease lease = other.acquire(model.version())) {
      otherDevice.completeAll();
      requireContent(lease, model);
    }
  }

  private static long residentPages(MemoryDaemon where, ImportedModel model) {
    return where.ledger().entries().stream()
        .filter(entry -> entry.model().equals(model.version()))
        .mapToLong(entry -> entry.residentBytes() / PAGE)
        .sum();
  }

  private boolean fetchThere() {
    boolean sent = other.idleLink().fetchAhead(List.of());
    otherDevice.completeAll();
    return sent;
  }

  private static List<ModelVersion> versions(ImportedModel... models) {
    return List.of(models).stream().map(ImportedModel::version).toList();
  }

  @Test
  void acquire_anotherDeviceHasIt_comesOutOfItsPagesAndNotFromTheHost() {
    ImportedModel model = both("a", 2, 3);
    useThere(model);
    use(model);
    assertEquals(0, models.opened(model.version()));
    assertEquals(5, residentPages(other, model), "it keeps its own");
  }

  @Test
  void acquire_anotherDeviceHasTheFirstPages_theRestComesFromTheHost() {
    ImportedModel model = both("a", 2, 3, 1);
    useThere(model);
    other.evict(model.version(), 3L * PAGE);
    use(model);
    assertEquals(1, models.opened(model.version()));
  }

  @Test
  void acquire_anotherDeviceHasNoMoreThanThisOne_comesFromTheHost() {
    ImportedModel model = both("a", 2, 3);
    useThere(model);
    use(model);
    other.evict(model.version(), 2L * PAGE);
    daemon.evict(model.version(), 2L * PAGE);
    use(model);
    assertEquals(1, models.opened(model.version()));
  }

  @Test
  void pagesThatAreRead_areNotTakenForOthers() throws Exception {
    ImportedModel model = both("a", 6);
    ImportedModel large = both("b", 8);
    useThere(model);
    Lease reading = daemon.acquire(model.version());
    Future<?> evicting = threads.submit(() -> useThere(large));
    await(() -> other.counters().waits() >= 2);
    assertEquals(6, residentPages(other, model));
    device.completeAll();
    requireContent(reading, model);
    reading.close();
    while (!evicting.isDone()) {
      otherDevice.completeAll();
    }
    evicting.get();
    assertEquals(2, residentPages(other, model));
  }

  @Test
  void acquire_otherDaemonIsBusy_doesNotWaitForIt() throws Exception {
    ImportedModel model = both("a", 4);
    ImportedModel large = both("b", 8);
    useThere(model);
    Lease using = other.acquire(model.version());
    CountDownLatch locked = new CountDownLatch(1);
    CountDownLatch served = new CountDownLatch(1);
    Future<?> waiting =
        threads.submit(
            () -> {
              RunControl holdTheLock =
                  ToldRun.leaving(
                      () -> {
                        locked.countDown();
                        awaitUninterruptibly(served);
                      });
              other.acquire(large.version(), Priority.ONLINE, holdTheLock).close();
            });
    locked.await();
    use(model);
    assertEquals(1, models.opened(model.version()));
    served.countDown();
    using.close();
    while (!waiting.isDone()) {
      otherDevice.completeAll();
    }
    waiting.get();
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void acquire_theOtherDeviceIsLost_comesFromTheHost() {
    ImportedModel model = both("a", 4);
    useThere(model);
    other.peers().lendWhile(() -> false);
    use(model);
    assertEquals(1, models.opened(model.version()));
  }

  @Test
  void acquire_copyOutOfTheOthersPagesFailed_comesFromTheHostNextTime() {
    ImportedModel model = both("a", 4);
    useThere(model);
    otherDevice.failToBeRead(true);
    Lease failed = daemon.acquire(model.version());
    device.completeAll();
    assertThrows(StatusException.class, () -> failed.await(0));
    failed.close();
    assertEquals(0, models.opened(model.version()));
    use(model);
    assertEquals(1, models.opened(model.version()));
  }

  @Test
  void pagesThatHaveBeenRead_areFreeBeforeTheRestHasCome() {
    ImportedModel model = both("a", 2, 3);
    ImportedModel large = both("b", 10);
    useThere(model);
    other.evict(model.version(), 2L * PAGE);
    Lease lease = daemon.acquire(model.version());
    device.completeNext();
    useThere(large); // Waits for ever where the pages are lent as long as the host's part takes.
    device.completeAll();
    requireContent(lease, model);
    lease.close();
  }

  @Test
  void missed_namesWhatIsUsedAndNotThere_mostLossFirst() {
    ImportedModel rare = both("rare", 8);
    ImportedModel frequent = both("frequent", 8);
    ImportedModel unused = both("unused", 1);
    use(rare);
    use(frequent);
    use(frequent);
    use(both("displacing", 10));
    List<Missed> missed = daemon.peers().missed(10);
    assertEquals(
        List.of(new Missed(frequent.version(), 8L * PAGE), new Missed(rare.version(), 8L * PAGE)),
        missed.stream().filter(model -> !model.version().equals(unused.version())).toList());
    assertEquals(1, daemon.peers().missed(1).size());
  }

  @Test
  void lodgers_takeFreePagesAlone_andGiveWayToOwnModels() {
    ImportedModel own = both("own", 7);
    ImportedModel lodger = both("lodger", 4);
    useThere(own);
    assertEquals(3L * PAGE, other.peers().idleBytes());
    other.peers().lodge(versions(lodger));
    assertEquals(versions(lodger), other.peers().lodgers());
    while (fetchThere()) {
      // The next page.
    }
    assertEquals(3, residentPages(other, lodger));
    assertEquals(7, residentPages(other, own));
    assertEquals(3L * PAGE, other.peers().idleBytes());
    useThere(both("small", 2));
    assertEquals(1, residentPages(other, lodger));
    assertEquals(7, residentPages(other, own), "a lodger goes first");
    use(lodger);
    assertEquals(1, models.opened(lodger.version()), "the rest of it");
  }

  @Test
  void lodger_thatIsWantedNoLonger_givesWayToOneThatIs() {
    ImportedModel first = both("first", 6);
    ImportedModel second = both("second", 8);
    other.peers().lodge(versions(first));
    while (fetchThere()) {
      // The next page.
    }
    assertEquals(6, residentPages(other, first));
    other.peers().lodge(versions(second));
    while (fetchThere()) {
      // The next page.
    }
    assertEquals(8, residentPages(other, second));
    assertEquals(2, residentPages(other, first));
  }

  @Test
  void lodger_thatIsUsedHere_isOneOfTheOwn() {
    ImportedModel model = both("a", 4);
    other.peers().lodge(versions(model));
    while (fetchThere()) {
      // The next page.
    }
    assertEquals(10L * PAGE, other.peers().idleBytes());
    useThere(model);
    assertEquals(6L * PAGE, other.peers().idleBytes());
  }

  @Test
  void deregister_ofALodger_forgetsIt() {
    ImportedModel model = both("a", 4);
    other.peers().lodge(versions(model));
    fetchThere();
    other.deregister(model.version());
    assertEquals(List.of(), other.peers().lodgers());
    assertFalse(fetchThere());
  }

  @Test
  void bothReadEachOtherAllTheTime_everythingIsRightAndNobodyHangs() throws Exception {
    long seed = System.nanoTime();
    System.out.println("PeerMemoryTest: seed " + seed);
    List<ImportedModel> all = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      all.add(both("m" + i, 1 + i % 3, 2));
    }
    AtomicBoolean over = new AtomicBoolean();
    List<Future<?>> copiers = List.of(copier(device, over), copier(otherDevice, over));
    List<Future<?>> workers = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Random random = new Random(seed + i);
      MemoryDaemon mine = i % 2 == 0 ? daemon : other;
      workers.add(threads.submit(() -> work(mine, all, random)));
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
    for (Future<?> copier : copiers) {
      copier.get();
    }
  }

  private Future<?> copier(FakeDevice copying, AtomicBoolean over) {
    return threads.submit(
        () -> {
          while (!over.get() || copying.pending() > 0) {
            copying.completeNext();
            Thread.onSpinWait();
          }
        });
  }

  private void work(MemoryDaemon mine, List<ImportedModel> all, Random random) {
    for (int run = 0; run < RUNS; run++) {
      ImportedModel model = all.get(random.nextInt(all.size()));
      clock.addAndGet(random.nextInt(10_000_000));
      switch (random.nextInt(10)) {
        case 0 -> mine.evict(model.version(), (long) random.nextInt(3) * PAGE);
        case 1 -> mine.peers().lodge(versions(model, all.getFirst()));
        case 2, 3 -> mine.idleLink().fetchAhead(List.of());
        default -> {
          try (Lease lease = mine.acquire(model.version())) {
            requireContent(lease, model);
          }
        }
      }
      mine.ledger().verify();
    }
  }
}
