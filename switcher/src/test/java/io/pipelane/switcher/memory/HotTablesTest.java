package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.residency.ResidencySettings;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** The table of a hot model comes to the device where there is room to spare, and goes first. */
class HotTablesTest extends DaemonTest {
  private static final int TABLE_PAGES = 4;
  private static final long TABLE = (long) TABLE_PAGES * PAGE;

  private ImportedModel hot(String name, int tablePages) {
    ImportedModel model = register(models.withLargeTable(name, name, tablePages));
    use(model);
    heat(model, ResidencySettings.HOT_RUNS);
    return model;
  }

  /** A model of one page that has been asked so often, and a table of four. */
  private ImportedModel hot(String name) {
    return hot(name, TABLE_PAGES);
  }

  private void heat(ImportedModel model, int runs) {
    for (int i = 0; i < runs; i++) {
      daemon.acquire(model.version()).close();
    }
  }

  private boolean fetchAhead() {
    return daemon.idleLink().fetchAhead(List.of());
  }

  /** What the idle link brings in until it has nothing to do; how many pages that are. */
  private int fetchAll() {
    int pages = 0;
    while (fetchAhead()) {
      daemon.ledger().verify();
      assertTrue(device.completeNext());
      pages++;
    }
    daemon.ledger().verify();
    return pages;
  }

  private FakeDevice.Range range(ImportedModel model) {
    return Objects.requireNonNull(rangeOf.get(model.version()));
  }

  private long copied(ImportedModel model) {
    return entry(model).copiedBytes();
  }

  private void requireOnDevice(ImportedModel model) {
    assertNotNull(range(model).shownPages);
    requireTable(model);
  }

  private void requireOnHost(ImportedModel model) {
    assertNull(range(model).shownPages);
    requireTable(model);
  }

  private void requireTable(ImportedModel model) {
    byte[] table = models.table(model.version()).toArray(ValueLayout.JAVA_BYTE);
    assertSame(models.table(model.version()), range(model).shown);
    for (int i = 0; i < table.length; i++) {
      assertEquals(table[i], inWindow(range(model), i), "byte " + i);
    }
  }

  @Test
  void fetchAhead_tableOfAHotModel_comesPageByPageAndIsShown() {
    ImportedModel model = hot("hot");
    for (int page = 1; page <= TABLE_PAGES; page++) {
      assertTrue(fetchAhead());
      assertEquals((long) page * PAGE, copied(model));
      assertTrue(entry(model).arriving());
      requireOnHost(model);
      assertTrue(fetchAhead(), "it waits for the page");
      assertEquals(1, device.pending());
      device.completeAll();
    }
    requireOnDevice(model);
    assertFalse(fetchAhead());
    assertEquals(PAGE + TABLE, daemon.ledger().lentBytes());
    assertEquals(PAGE, entry(model).residentBytes());
    assertEquals(1, daemon.counters().tablesCopied());
    use(model);
  }

  @Test
  void fetchAhead_tableOfAModelThatIsNotHot_stays() {
    ImportedModel model = register(models.withLargeTable("warm", "warm", TABLE_PAGES));
    use(model);
    heat(model, ResidencySettings.HOT_RUNS - 2);
    assertEquals(0, fetchAll());
    heat(model, 1);
    clock.addAndGet(Duration.ofMinutes(1).toNanos());
    assertEquals(0, fetchAll(), "the runs are not of late");
    for (int i = 0; i < ResidencySettings.HOT_RUNS; i++) {
      daemon.acquire(model.version(), Priority.OFFLINE, RunControl.NONE).close();
    }
    assertEquals(0, fetchAll(), "nobody waits for offline runs");
    heat(model, ResidencySettings.HOT_RUNS);
    assertEquals(TABLE_PAGES, fetchAll());
    requireOnDevice(model);
  }

  @Test
  void fetchAhead_roomForHalfOfATable_evictsNobody() {
    ImportedModel other = registered("other", 3, 3);
    use(other);
    ImportedModel model = hot("hot");
    assertEquals(0, fetchAll());
    assertEquals(6, residentPages(other));
    daemon.evictions().evict(other.version(), 5L * PAGE);
    assertEquals(TABLE_PAGES, fetchAll());
    assertEquals(5, residentPages(other));
    requireOnDevice(model);
  }

  @Test
  void fetchAhead_roomGoesBeforeAllHasCome_givesUpWhatHasCome() {
    ImportedModel model = hot("hot");
    assertTrue(fetchAhead());
    device.completeAll();
    use(registered("other", 3, 3)); // There is room for it, and no more for the table.
    assertEquals(PAGE, copied(model));
    assertEquals(0, fetchAll());
    assertEquals(0, copied(model));
    requireOnHost(model);
  }

  @Test
  void acquire_roomIsWanted_tableGoesBeforeAnyWeights() {
    ImportedModel model = hot("hot");
    ImportedModel cold = registered("cold", 3);
    use(cold);
    assertEquals(TABLE_PAGES, fetchAll());
    ImportedModel other = registered("other", 3);
    use(other);
    requireOnHost(model);
    assertEquals(0, copied(model));
    assertEquals(0, daemon.counters().pagesTakenBack());
    assertEquals(
        List.of(1L, 3L, 3L),
        List.of(model, cold, other).stream().map(this::residentPages).toList());
    use(model);
  }

  @Test
  void acquire_roomIsWantedForTheModelItself_tableGoes() {
    ImportedModel model = hot("hot", 9);
    assertEquals(9, fetchAll());
    requireOnDevice(model);
    daemon.evictions().evict(model.version(), 0);
    assertEquals(0, copied(model));
    use(model);
    requireOnHost(model);
  }

  @Test
  void acquire_ofSeveralTables_theLeastUsedGoesAlone() {
    ImportedModel least = hot("least", 3);
    ImportedModel most = hot("most", 3);
    heat(most, 100);
    assertEquals(6, fetchAll());
    use(registered("other", 3));
    requireOnHost(least);
    requireOnDevice(most);
  }

  @Test
  void acquire_runsReadTheTable_anotherGivesWay() {
    ImportedModel model = hot("hot");
    ImportedModel cold = registered("cold", 4);
    use(cold);
    assertEquals(TABLE_PAGES, fetchAll());
    ImportedModel other = registered("other", 3);
    try (Lease _ = daemon.acquire(model.version())) {
      use(other);
      requireOnDevice(model);
      assertEquals(2, residentPages(cold));
    }
    use(registered("more", 4));
    requireOnHost(model);
  }

  @Test
  void acquire_runsReadTheTableAndNobodyElseCanGiveWay_waitsForThem() throws Exception {
    ImportedModel model = hot("hot");
    assertEquals(TABLE_PAGES, fetchAll());
    ImportedModel large = registered("large", 8);
    Future<?> waiting;
    try (Lease _ = daemon.acquire(model.version())) {
      long waits = daemon.counters().waits();
      waiting = threads.submit(() -> daemon.acquire(large.version()).close());
      awaitWaits(waits + 1);
      await(
          () ->
              daemon.tryAcquire(model.version(), clock.get(), Runnable::run)
                  == null); // It stands in line.
      requireOnDevice(model);
      daemon.ledger().verify();
    }
    waiting.get();
    device.completeAll();
    requireOnHost(model);
    assertEquals(8, residentPages(large));
    assertEquals(1, residentPages(model));
  }

  @Test
  void fetchAhead_runsAreUnderWay_thoseThatBeginLaterReadTheCopy() {
    ImportedModel model = hot("hot");
    Lease before = daemon.acquire(model.version());
    assertEquals(TABLE_PAGES, fetchAll());
    requireOnDevice(model);
    Lease after = daemon.acquire(model.version());
    before.close();
    ImportedModel cold = registered("cold", 5);
    use(cold);
    use(registered("other", 1));
    requireOnDevice(model);
    after.close();
  }

  @Test
  void acquire_aPageOfTheTableIsOnItsWay_theOthersGoAtOnceAndItFollows() {
    ImportedModel model = hot("hot");
    for (int page = 0; page < TABLE_PAGES - 1; page++) {
      assertTrue(fetchAhead());
      device.completeAll();
    }
    assertTrue(fetchAhead());
    ImportedModel other = registered("other", 8);
    try (Lease lease = daemon.acquire(other.version())) {
      assertEquals(PAGE, copied(model));
      daemon.ledger().verify();
      device.completeAll();
      requireContent(lease, other);
    }
    assertEquals(0, copied(model));
    assertEquals(1, residentPages(model));
    requireOnHost(model);
    assertEquals(0, fetchAll(), "it has to be hot anew");
  }

  @Test
  void fetchAhead_aTableThatHasLeft_comesAgainToTheSameAddresses() {
    ImportedModel model = hot("hot");
    assertEquals(TABLE_PAGES, fetchAll());
    FakeDevice.Range first = range(model).shownPages;
    ImportedModel other = registered("other", 8);
    use(other);
    daemon.evictions().evict(other.version(), 0);
    heat(model, ResidencySettings.HOT_RUNS - 1);
    assertEquals(0, fetchAll());
    heat(model, 1);
    assertEquals(TABLE_PAGES, fetchAll());
    assertSame(first, range(model).shownPages, "what was captured is good again");
    requireOnDevice(model);
  }

  @Test
  void fetchAhead_aPageFails_allGoesAndIsTriedAgainMuchLater() {
    ImportedModel model = hot("hot");
    assertTrue(fetchAhead());
    device.completeAll();
    assertTrue(fetchAhead());
    device.completeNext(new StatusException(Status.DEVICE_FAILURE, "the link is broken"));
    assertEquals(0, copied(model));
    requireOnHost(model);
    assertEquals(0, fetchAll());
    assertEquals(PAGE, daemon.ledger().lentBytes());
    use(model);
    heat(model, ResidencySettings.HOT_RUNS);
    assertEquals(TABLE_PAGES, fetchAll());
    requireOnDevice(model);
  }

  @Test
  void fetchAhead_aPageCannotBeMapped_allGoes() {
    ImportedModel model = hot("hot");
    assertTrue(fetchAhead());
    device.completeAll();
    device.failMappingAfter(0);
    assertFalse(fetchAhead());
    assertEquals(0, copied(model));
    requireOnHost(model);
    assertEquals(PAGE, daemon.ledger().lentBytes());
  }

  @Test
  void deregister_aPageIsOnItsWay_waitsForIt() throws Exception {
    ImportedModel model = hot("hot");
    assertTrue(fetchAhead());
    device.completeAll();
    assertTrue(fetchAhead());
    Future<?> going = threads.submit(() -> daemon.deregister(model.version()));
    await(() -> copied(model) == PAGE); // The other one has gone.
    assertFalse(going.isDone());
    device.completeAll();
    going.get();
    assertEquals(0, daemon.ledger().lentBytes());
    assertTrue(daemon.ledger().entries().isEmpty());
  }

  @Test
  void deregister_aPageThatFollowedWasNotTakenBack_goesWithTheModel() throws Exception {
    ImportedModel model = hot("hot");
    assertTrue(fetchAhead());
    device.completeAll();
    assertTrue(fetchAhead());
    Future<?> leaving = threads.submit(() -> daemon.evictions().evict(model.version(), 0));
    await(() -> copied(model) == PAGE);
    device.failToUnmap(true);
    device.completeAll();
    device.failToUnmap(false);
    leaving.get();
    assertEquals(PAGE, copied(model));
    daemon.deregister(model.version());
    daemon.ledger().verify();
    assertEquals(0, daemon.ledger().lentBytes());
  }

  @Test
  void fetchAhead_runsFadeWhileATableComes_itComesAllTheSame() {
    ImportedModel model = hot("hot");
    assertTrue(fetchAhead());
    device.completeAll();
    clock.addAndGet(Duration.ofMillis(100).toNanos());
    assertEquals(TABLE_PAGES - 1, fetchAll());
    requireOnDevice(model);
  }

  @Test
  void variants_eachShowItsOwnTable() {
    ImportedModel one = register(models.withLargeTable("one", "shared", 3));
    ImportedModel two = register(models.withLargeTable("two", "shared", 3));
    use(two);
    use(one);
    heat(one, ResidencySettings.HOT_RUNS);
    assertEquals(3, fetchAll());
    requireOnDevice(one);
    use(two);
    requireOnHost(two);
    use(one);
    requireOnDevice(one);
    use(two);
    use(registered("other", 8)); // It takes the copy's place while that is not shown.
    use(one);
    requireOnHost(one);
  }

  @Test
  void variants_tableComesWhileAnotherHasTheRange_isShownWithItsOwn() {
    ImportedModel one = register(models.withLargeTable("one", "shared", 3));
    ImportedModel two = register(models.withLargeTable("two", "shared", 3));
    use(one);
    heat(one, ResidencySettings.HOT_RUNS);
    use(two);
    assertEquals(3, fetchAll());
    requireOnHost(two);
    assertEquals(3L * PAGE, copied(one));
    use(one);
    requireOnDevice(one);
  }

  @Test
  void lend_toLanes_takesTheTableFirst() {
    device.vacatePages();
    ImportedModel model = hot("hot");
    assertEquals(TABLE_PAGES, fetchAll());
    try (Lease _ = daemon.acquire(model.version())) {
      assertEquals(0, daemon.loans().lend(6L * PAGE), "a run reads it");
      requireOnDevice(model);
    }
    assertEquals(9L * PAGE, daemon.loans().lend(9L * PAGE));
    requireOnHost(model);
    daemon.ledger().verify();
    assertEquals(1, residentPages(model));
    daemon.loans().giveBack(9L * PAGE);
  }

  @Test
  void couldLend_besideARunThatReadsTheTable_countsItIn() {
    device.vacatePages();
    ImportedModel model = hot("hot");
    try (Lease lease = daemon.acquire(model.version())) {
      assertTrue(daemon.loans().couldLend(9L * PAGE, lease));
      assertEquals(TABLE_PAGES, fetchAll());
      assertTrue(daemon.loans().couldLend(5L * PAGE, lease));
      assertFalse(daemon.loans().couldLend(6L * PAGE, lease), "it would wait for itself");
    }
  }

  @Test
  void wish_fullMemory_takesTheTablesPlace() {
    ImportedModel model = hot("hot", 9);
    assertEquals(9, fetchAll());
    ImportedModel other = registered("other", 2);
    daemon.idleLink().wish(other.version(), Optional.of(Duration.ofSeconds(1)), Priority.ONLINE);
    assertEquals(2, fetchAll());
    requireOnHost(model);
    assertEquals(1, residentPages(model));
  }

  @Test
  void acquire_aStuckRunKeepsTheTable_whoNeedsItsRoomIsRefused() {
    ImportedModel model = hot("hot");
    assertEquals(TABLE_PAGES, fetchAll());
    ImportedModel large = registered("large", 8);
    Lease lease = daemon.acquire(model.version());
    lease.markStuck("its process does not end");
    StatusException error =
        assertThrows(StatusException.class, () -> daemon.acquire(large.version()));
    assertEquals(Status.UNAVAILABLE, error.status());
    requireOnDevice(model);
    lease.close();
    use(large);
    requireOnHost(model);
  }
}
