package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Packed forms: room that nobody else wants, pinned pages, dropped before any page is lost. */
class PackingTest extends DaemonTest {
  private final AtomicInteger drops = new AtomicInteger();

  private PackingGrant granted(ImportedModel model, long bytes) {
    return daemon.grantPacking(model.version(), bytes).orElseThrow();
  }

  @Test
  void grant_onlyWhereThereIsRoomAndTheModelIsWhole() {
    ImportedModel model = registered("a", 2, 2);
    assertTrue(daemon.grantPacking(model.version(), 1).isEmpty(), "nothing is resident");
    Lease lease = daemon.acquire(model.version());
    assertTrue(daemon.grantPacking(model.version(), 1).isEmpty(), "it is arriving");
    device.completeAll();
    lease.close();
    assertTrue(daemon.grantPacking(model.version(), 6 * PAGE + 1).isEmpty(), "too much");
    PackingGrant grant = granted(model, 6 * PAGE);
    assertTrue(daemon.grantPacking(model.version(), 1).isEmpty(), "it has one");
    daemon.ledger().verify();
    grant.abandon();
    assertEquals(0, daemon.ledger().packedBytes());
  }

  @Test
  void grant_whileSomebodyWaits_isRefused() throws Exception {
    ImportedModel model = registered("a", 4);
    ImportedModel large = registered("large", 10);
    Lease lease = daemon.acquire(model.version());
    device.completeAll();
    Future<?> waiting = threads.submit(() -> daemon.acquire(large.version()).close());
    awaitWaits(2);
    assertTrue(daemon.grantPacking(model.version(), 1).isEmpty());
    lease.close();
    waiting.get();
  }

  @Test
  void built_leasesUseItAndItIsChargedWhatItTakes() {
    ImportedModel model = registered("a", 4);
    use(model);
    PackingGrant grant = granted(model, 6 * PAGE);
    Lease before = daemon.acquire(model.version());
    assertFalse(before.packed(), "it is not built yet");
    grant.built(PAGE + 1, drops::incrementAndGet);
    Lease after = daemon.acquire(model.version());
    assertTrue(after.packed());
    assertEquals(PAGE + 1, daemon.ledger().packedBytes());
    before.close();
    after.close();
    assertEquals(0, drops.get());
  }

  @Test
  void memoryIsWanted_formGoesBeforeAnyPageAndItsPagesBecomeEvictable() {
    ImportedModel packed = registered("packed", 4);
    ImportedModel seldom = registered("seldom", 2);
    use(seldom);
    use(packed);
    use(packed);
    granted(packed, 4 * PAGE).built(4 * PAGE, drops::incrementAndGet);
    ImportedModel third = registered("third", 4);
    use(third);
    assertEquals(1, drops.get());
    assertEquals(2, residentPages(seldom));
    assertEquals(4, residentPages(packed));
    use(registered("whole", 10));
    assertEquals(0, residentPages(packed));
    assertEquals(1, daemon.counters().formsDropped());
  }

  @Test
  void formInUse_isNotDroppedUntilItsRunEnds() throws Exception {
    ImportedModel packed = registered("packed", 4);
    ImportedModel large = registered("large", 6);
    use(packed);
    granted(packed, 4 * PAGE).built(4 * PAGE, drops::incrementAndGet);
    Lease run = daemon.acquire(packed.version());
    Future<?> waiting = threads.submit(() -> daemon.acquire(large.version()).close());
    awaitWaits(2);
    assertEquals(0, drops.get());
    run.close();
    waiting.get();
    assertEquals(1, drops.get());
    assertEquals(4, residentPages(packed));
  }

  @Test
  void formBeingBuilt_isWaitedFor() throws Exception {
    ImportedModel packed = registered("packed", 4);
    ImportedModel large = registered("large", 10);
    use(packed);
    PackingGrant grant = granted(packed, 4 * PAGE);
    Future<?> waiting = threads.submit(() -> daemon.acquire(large.version()).close());
    awaitWaits(2);
    assertEquals(4, residentPages(packed), "its builder reads the pages");
    grant.abandon();
    waiting.get();
  }

  @Test
  void deregister_dropsTheForm() {
    ImportedModel packed = registered("packed", 4);
    use(packed);
    granted(packed, 4 * PAGE).built(PAGE, drops::incrementAndGet);
    daemon.deregister(packed.version());
    assertEquals(1, drops.get());
    assertEquals(0, daemon.ledger().packedBytes());
  }
}
