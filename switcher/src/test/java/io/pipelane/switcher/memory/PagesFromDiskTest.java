package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.FakeModels.Disk;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Pages that are on disk, and come ahead of runs. */
class PagesFromDiskTest extends DaemonTest {
  private final AtomicInteger told = new AtomicInteger();

  @BeforeEach
  void listen() {
    daemon.idleLink().onFree(told::incrementAndGet);
  }

  private boolean fetch(ImportedModel... queued) {
    return daemon
        .idleLink()
        .fetchAhead(List.of(queued).stream().map(ImportedModel::version).toList());
  }

  private void wish(ImportedModel model) {
    daemon.idleLink().wish(model.version(), Optional.of(Duration.ofMinutes(1)), Priority.ONLINE);
  }

  /** Lets a page be read, and waits until the link's listener knows. */
  private void turn(Disk disk) {
    int before = told.get();
    disk.turn();
    await(() -> told.get() > before);
  }

  @Test
  void wish_onDisk_isReadPageByPageBeforeAnythingIsSentFor() {
    ImportedModel model = registered("model", 3);
    Disk disk = models.onDisk(model.version());
    wish(model);
    for (long page = 0; page < 3; page++) {
      assertFalse(fetch());
      assertFalse(fetch(), "it is being read still");
      assertEquals(page, residentPages(model));
      turn(disk);
      assertTrue(fetch());
      device.completeAll();
    }
    assertEquals(Set.of(0L, (long) PAGE, 2L * PAGE), disk.read);
    assertFalse(fetch());
    use(model);
  }

  @Test
  void wish_behindOneOnASlowDisk_isNotHeldUp() {
    ImportedModel slow = registered("slow", 2);
    ImportedModel other = registered("other", 2);
    Disk disk = models.onDisk(slow.version());
    wish(slow);
    clock.addAndGet(1);
    wish(other);
    for (int page = 1; page <= 2; page++) {
      assertTrue(fetch());
      device.completeAll();
      assertEquals(page, residentPages(other));
    }
    assertFalse(fetch());
    assertEquals(0, residentPages(slow));
    turn(disk);
    assertTrue(fetch());
    device.completeAll();
    assertEquals(1, residentPages(slow));
  }

  @Test
  void wishes_ofSeveralOnDisk_areReadOneByOneTheMostUrgentFirst() {
    ImportedModel first = registered("first", 1);
    ImportedModel second = registered("second", 1);
    Disk ofFirst = models.onDisk(first.version());
    Disk ofSecond = models.onDisk(second.version());
    wish(first);
    clock.addAndGet(1);
    wish(second);
    assertFalse(fetch());
    await(ofFirst::isAwaited);
    assertFalse(ofSecond.isAwaited());
    turn(ofFirst);
    assertTrue(fetch());
    device.completeAll();
    assertFalse(fetch());
    turn(ofSecond);
    assertTrue(fetch());
    device.completeAll();
    assertEquals(1, residentPages(second));
  }

  /** What gives way is of use to runs that come while the disk is read. */
  @Test
  void wish_onDiskBesideAFullDevice_takesNothingBeforeItHasBeenRead() {
    ImportedModel idle = registered("idle", PAGES);
    use(idle);
    ImportedModel model = registered("model", 2);
    Disk disk = models.onDisk(model.version());
    wish(model);
    for (int page = 1; page <= 2; page++) {
      assertFalse(fetch());
      assertEquals(PAGES - page + 1, residentPages(idle));
      turn(disk);
      assertTrue(fetch());
      device.completeAll();
      assertEquals(PAGES - page, residentPages(idle));
      assertEquals(page, residentPages(model));
    }
  }

  /** Nobody could use what would be read. */
  @Test
  void wish_onDiskBesideADeviceInUse_isNotRead() {
    ImportedModel used = registered("used", PAGES);
    use(used);
    ImportedModel model = registered("model", 1);
    Disk disk = models.onDisk(model.version());
    wish(model);
    try (Lease _ = daemon.acquire(used.version())) {
      assertFalse(fetch());
      assertFalse(disk.isAwaited());
      assertEquals(0, models.opened(model.version()));
    }
    assertFalse(fetch());
    turn(disk);
    assertTrue(fetch());
    device.completeAll();
  }

  /** Its first layers compute while the rest is read. */
  @Test
  void acquire_modelIsBeingRead_runsCopiesDoNotWaitForThat() {
    ImportedModel model = registered("model", 1, 1);
    Disk disk = models.onDisk(model.version());
    wish(model);
    assertFalse(fetch());
    await(disk::isAwaited);
    Lease lease = daemon.acquire(model.version());
    assertEquals(2, device.pending());
    device.completeAll();
    requireContent(lease, model);
    lease.close();
    turn(disk);
    assertFalse(fetch(), "all is there");
  }

  @Test
  void queued_theNextPageIsReadWhileOneIsOnItsWay() {
    ImportedModel model = registered("model", 2);
    Disk disk = models.onDisk(model.version());
    assertFalse(fetch(model));
    turn(disk);
    assertTrue(fetch(model));
    assertEquals(1, device.pending());
    turn(disk);
    assertTrue(fetch(model));
    assertEquals(2, device.pending());
    device.completeAll();
  }

  @Test
  void wish_cannotBeRead_restsAndIsTriedAgain() {
    ImportedModel model = registered("model", 1);
    Disk disk = models.onDisk(model.version());
    disk.broken = true;
    wish(model);
    assertFalse(fetch());
    turn(disk);
    assertFalse(fetch());
    assertFalse(disk.isAwaited(), "it rests");
    disk.broken = false;
    clock.addAndGet(Duration.ofSeconds(1).toNanos());
    assertFalse(fetch());
    turn(disk);
    assertTrue(fetch());
    device.completeAll();
    assertEquals(1, residentPages(model));
  }

  @Test
  void acquireOffline_onDisk_othersCopiesAreNotBehindIt() throws Exception {
    ImportedModel offline = registered("offline", 2);
    ImportedModel online = registered("online", 2);
    Disk disk = models.onDisk(offline.version());
    Future<?> run =
        threads.submit(
            () -> {
              try (Lease lease =
                  daemon.acquire(offline.version(), Priority.OFFLINE, RunControl.NONE)) {
                requireContent(lease, offline);
              }
            });
    await(disk::isAwaited);
    use(online);
    disk.turn();
    await(() -> device.pending() == 1);
    device.completeAll();
    await(disk::isAwaited);
    disk.turn();
    await(() -> device.pending() == 1);
    device.completeAll();
    run.get();
  }

  @Test
  void acquireOffline_onDiskBesideAFullDevice_takesNothingBeforeItHasBeenRead() throws Exception {
    ImportedModel idle = registered("idle", PAGES);
    use(idle);
    ImportedModel offline = registered("offline", 1);
    Disk disk = models.onDisk(offline.version());
    Future<Lease> run =
        threads.submit(() -> daemon.acquire(offline.version(), Priority.OFFLINE, RunControl.NONE));
    await(disk::isAwaited);
    assertEquals(PAGES, residentPages(idle));
    disk.turn();
    await(() -> device.pending() == 1);
    assertEquals(PAGES - 1, residentPages(idle));
    device.completeAll();
    run.get().close();
  }

  @Test
  void deregister_modelIsBeingRead_doesNotWaitForTheDisk() {
    ImportedModel model = registered("model", 1);
    Disk disk = models.onDisk(model.version());
    wish(model);
    assertFalse(fetch());
    await(disk::isAwaited);
    daemon.deregister(model.version());
    turn(disk);
    assertFalse(fetch());
  }

  @Test
  void close_waitsForThePageThatIsBeingRead() throws Exception {
    ImportedModel model = registered("model", 2);
    Disk disk = models.onDisk(model.version());
    wish(model);
    assertFalse(fetch());
    await(disk::isAwaited);
    Future<?> closing = threads.submit(daemon::close);
    await(() -> daemon.ledger().entries().isEmpty());
    disk.turn();
    closing.get();
    models.assertAllClosed();
  }
}
