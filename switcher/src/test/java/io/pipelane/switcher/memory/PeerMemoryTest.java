package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Latches;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.PeerMemory.Missed;
import io.pipelane.switcher.residency.ResidencySettings;
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

  /** What a byte costs of whose link nothing is known. */
  private static final double NANOS_PER_BYTE = 0.1;

  private final FakeDevice otherDevice = new FakeDevice(PAGES);
  private final FakeModels otherModels = new FakeModels();
  private final MemoryDaemon other =
      new MemoryDaemon(
          otherDevice,
          (long) PAGES * PAGE,
          otherModels,
          new EqualBytesGrouping(100, 1),
          structure -> false,
          residency(),
          clock::get);

  @Override
  ResidencySettings residency() {
    return overAFastLink();
  }

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

  /** Brings pages in as long as any is worth it. */
  private void fetchAllThere() {
    while (fetchThere()) {
      // The next page.
    }
  }

  private static List<ModelVersion> versions(ImportedModel... models) {
    return List.of(models).stream().map(ImportedModel::version).toList();
  }

  /** Models that are asked for elsewhere so many times a second, and wait for all their bytes. */
  private static List<Missed> missed(double perSecond, ImportedModel... models) {
    return List.of(models).stream().map(model -> missed(model, perSecond)).toList();
  }

  private static Missed missed(ImportedModel model, double perSecond) {
    long bytes = model.plan().weightBytes();
    return new Missed(model.version(), bytes, perSecond * bytes * NANOS_PER_BYTE);
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
    other.evictions().evict(model.version(), 3L * PAGE);
    use(model);
    assertEquals(1, models.opened(model.version()));
  }

  @Test
  void acquire_anotherDeviceHasNoMoreThanThisOne_comesFromTheHost() {
    ImportedModel model = both("a", 2, 3);
    useThere(model);
    use(model);
    other.evictions().evict(model.version(), 2L * PAGE);
    daemon.evictions().evict(model.version(), 2L * PAGE);
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
                        Latches.await(served);
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
    other.evictions().evict(model.version(), 2L * PAGE);
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
    ImportedModel _ = both("unused", 1);
    use(rare);
    use(frequent);
    use(frequent);
    use(both("displacing", 10));
    List<Missed> missed = daemon.peers().missed(10);
    assertEquals(versions(frequent, rare), missed.stream().map(Missed::version).toList());
    assertEquals(8L * PAGE, missed.getFirst().weightBytes());
    assertEquals(2, missed.getFirst().waitedPerSecond() / missed.getLast().waitedPerSecond(), 1e-9);
    assertEquals(1, daemon.peers().missed(1).size());
  }

  @Test
  void missed_twoThatLoseAsMuch_namesFirstTheSmallerOne() {
    ImportedModel large = both("large", 8);
    ImportedModel small = both("small", 2);
    use(large);
    for (int i = 0; i < 4; i++) {
      use(small);
    }
    use(both("displacing", 10));
    assertEquals(
        versions(small, large), daemon.peers().missed(10).stream().map(Missed::version).toList());
  }

  @Test
  void lodgers_takeFreePages_andThoseOfLessWorthThanTheirs() {
    ImportedModel rare = both("rare", 3);
    ImportedModel frequent = both("frequent", 4);
    ImportedModel lodger = both("lodger", 6);
    useThere(rare);
    for (int i = 0; i < 100; i++) {
      useThere(frequent);
    }
    assertEquals(3L * PAGE, other.peers().room().idleBytes());
    other.peers().lodge(missed(0.1, lodger));
    assertEquals(versions(lodger), other.peers().lodgers());
    fetchAllThere();
    assertEquals(6, residentPages(other, lodger));
    assertEquals(0, residentPages(other, rare));
    assertEquals(4, residentPages(other, frequent));
    use(lodger);
    assertEquals(0, models.opened(lodger.version()));
  }

  @Test
  void lodger_thatIsWorthLessThanOwnModels_takesFreePagesAlone_andGoesFirst() {
    ImportedModel own = both("own", 7);
    ImportedModel lodger = both("lodger", 4);
    useThere(own);
    other.peers().lodge(missed(0.003, lodger));
    fetchAllThere();
    assertEquals(3, residentPages(other, lodger));
    assertEquals(7, residentPages(other, own));
    assertEquals(3L * PAGE, other.peers().room().idleBytes());
    useThere(both("small", 2));
    assertEquals(1, residentPages(other, lodger));
    assertEquals(7, residentPages(other, own));
    use(lodger);
    assertEquals(1, models.opened(lodger.version()), "the rest of it");
  }

  @Test
  void lodgers_giveWayInTheOrderOfWhatTheirPagesSave() {
    ImportedModel more = both("more", 4);
    ImportedModel less = both("less", 4);
    other.peers().lodge(List.of(missed(more, 2), missed(less, 1)));
    fetchAllThere();
    useThere(both("own", 4));
    assertEquals(4, residentPages(other, more));
    assertEquals(2, residentPages(other, less));
    other.peers().lodge(List.of(missed(less, 2), missed(more, 1)));
    useThere(both("further", 3));
    assertEquals(2, residentPages(other, less));
  }

  @Test
  void lodger_thatSavesLessThanItsPagesCost_isNotBroughtIn() {
    ImportedModel lodger = both("lodger", 4);
    other.peers().lodge(missed(1e-15, lodger));
    fetchAllThere();
    assertEquals(0, residentPages(other, lodger));
    assertEquals(versions(lodger), other.peers().lodgers());
  }

  @Test
  void lodger_thatIsWantedNoLonger_givesWayToOneThatIs() {
    ImportedModel first = both("first", 6);
    ImportedModel second = both("second", 8);
    other.peers().lodge(missed(1, first));
    fetchAllThere();
    assertEquals(6, residentPages(other, first));
    other.peers().lodge(missed(1, second));
    fetchAllThere();
    assertEquals(8, residentPages(other, second));
    assertEquals(2, residentPages(other, first));
  }

  @Test
  void lodger_thatIsUsedHere_isOneOfTheOwn() {
    ImportedModel model = both("a", 4);
    other.peers().lodge(missed(1, model));
    fetchAllThere();
    assertEquals(10L * PAGE, other.peers().room().idleBytes());
    useThere(model);
    assertEquals(6L * PAGE, other.peers().room().idleBytes());
  }

  @Test
  void own_namesWhatIsThereAsAWholeForRequestsHere() {
    ImportedModel whole = both("whole", 2);
    ImportedModel part = both("part", 3);
    ImportedModel lodger = both("lodger", 2);
    other.peers().lodge(missed(1, lodger));
    fetchAllThere();
    useThere(whole);
    useThere(part);
    other.evictions().evict(part.version(), PAGE);
    assertEquals(2, residentPages(other, lodger));
    assertEquals(versions(whole), other.peers().own());
  }

  @Test
  void deregister_ofALodger_forgetsIt() {
    ImportedModel model = both("a", 4);
    other.peers().lodge(missed(1, model));
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
        case 0 -> mine.evictions().evict(model.version(), (long) random.nextInt(3) * PAGE);
        case 1 -> mine.peers().lodge(missed(random.nextInt(3), model, all.getFirst()));
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
