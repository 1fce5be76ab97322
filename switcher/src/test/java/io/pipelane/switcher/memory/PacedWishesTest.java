package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Wishes on a device whose copies slow runs down. */
class PacedWishesTest extends DaemonTest {
  @Override
  int restBehindCopies() {
    return 16;
  }

  private boolean fetch(ImportedModel... queued) {
    return daemon
        .idleLink()
        .fetchAhead(List.of(queued).stream().map(ImportedModel::version).toList());
  }

  private void wish(ImportedModel model, int seconds) {
    daemon
        .idleLink()
        .wish(model.version(), Optional.of(Duration.ofSeconds(seconds)), Priority.ONLINE);
  }

  @Test
  void urgentWishThatCannotBeMet_leavesTheOthersHeldBack() {
    ImportedModel running = registered("running", 1);
    ImportedModel queued = registered("queued", 1);
    ImportedModel broken = registered("broken", 1);
    ImportedModel urgent = registered("urgent", 1);
    ImportedModel inTime = registered("in-time", 1);
    use(running);
    Lease lease = daemon.acquire(running.version());
    wish(broken, 1);
    models.failToOpen(true);
    assertFalse(fetch());
    models.failToOpen(false);
    assertTrue(fetch(queued));
    clock.addAndGet(1_000);
    device.completeAll();
    wish(inTime, 60);
    assertFalse(fetch(), "it has time");
    wish(urgent, 1);
    assertTrue(fetch());
    device.completeAll();
    assertEquals(1, residentPages(urgent));
    assertEquals(0, residentPages(inTime));
    lease.close();
  }

  @Test
  void wishThatSaysNothing_isHeldBackToItsEnd() {
    ImportedModel running = registered("running", 1);
    ImportedModel queued = registered("queued", 1);
    ImportedModel wished = registered("wished", 1);
    use(running);
    Lease lease = daemon.acquire(running.version());
    assertTrue(fetch(queued));
    clock.addAndGet(Duration.ofSeconds(10).toNanos()); // So slow that others rest for long.
    device.completeAll();
    daemon.idleLink().wish(wished.version(), Optional.empty(), Priority.ONLINE);
    assertFalse(fetch());
    clock.addAndGet(Duration.ofSeconds(58).toNanos());
    assertFalse(fetch(), "nobody has said when");
    lease.close();
    assertTrue(fetch());
    device.completeAll();
  }

  @Test
  void pagesThatFollowEachOther_holdOthersBackAsLongAsOneDoes() {
    ImportedModel running = registered("running", 1);
    ImportedModel queued = registered("queued", 4);
    ImportedModel wished = registered("wished", 1);
    use(running);
    Lease lease = daemon.acquire(running.version());
    assertTrue(fetch(queued));
    for (int page = 0; page < 4; page++) {
      clock.addAndGet(1_000);
      device.completeNext();
      boolean _ = fetch(queued);
    }
    daemon.idleLink().wish(wished.version(), Optional.empty(), Priority.ONLINE);
    assertFalse(fetch());
    clock.addAndGet(16_000);
    assertTrue(fetch());
    device.completeAll();
    lease.close();
  }
}
