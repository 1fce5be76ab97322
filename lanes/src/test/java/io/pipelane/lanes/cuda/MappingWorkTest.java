package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.copy.CudaEvent;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the copy thread maps, and when. */
class MappingWorkTest {
  private static final int SLOTS = 6;

  private final FakeDriver driver = new FakeDriver();
  private final SlotMappings mappings =
      new SlotMappings(driver, driver::zero, FakeDriver.BASE, FakeDriver.PAGE, SLOTS);
  private boolean closed;
  private final MappingWork work = new MappingWork(this::requireOpen);

  private void requireOpen() {
    if (closed) {
      throw new StatusException(Status.UNAVAILABLE, "closed on purpose");
    }
  }

  private CudaEvent await(int slots) {
    CudaEvent event = new CudaEvent();
    work.await(new Command.SettleRange(mappings, slots, event));
    return event;
  }

  private void plan(int slot, long handle) {
    mappings.plan(slot, handle);
    work.note(mappings);
  }

  private void planAll() {
    for (int slot = 0; slot < SLOTS; slot++) {
      plan(slot, 10 + slot);
    }
  }

  @Test
  void step_doesAFewPagesOfWhatIsAwaitedLongest() {
    planAll();
    CudaEvent first = await(1);
    CudaEvent second = await(4);
    CudaEvent third = await(6);
    assertEquals(List.of(), driver.takeCalls());
    work.step();
    assertEquals(List.of("map 0 10", "allow 0+1"), driver.takeCalls());
    assertTrue(first.isDone());
    work.step();
    assertEquals(List.of("map 1 11", "map 2 12", "allow 1+2"), driver.takeCalls());
    assertFalse(second.isDone());
    work.step();
    assertEquals(List.of("map 3 13", "allow 3+1"), driver.takeCalls());
    assertTrue(second.isDone());
    assertFalse(third.isDone());
    assertTrue(work.isAwaited());
    work.finishAwaited();
    assertTrue(third.isDone());
    assertTrue(work.isDone());
  }

  @Test
  void step_nobodyWaits_doesWhatIsLeft() {
    plan(3, 7);
    assertFalse(work.isDone());
    assertFalse(work.isAwaited());
    work.step();
    assertEquals(List.of("map 3 7", "allow 3+1"), driver.takeCalls());
    assertTrue(work.isDone());
    work.step();
    assertEquals(List.of(), driver.takeCalls());
  }

  @Test
  void step_driverFails_whoeverWaitsHearsOfIt_othersGoOn() {
    planAll();
    driver.failAfter(0);
    CudaEvent failed = await(2);
    CudaEvent next = await(2);
    work.step();
    assertThrows(StatusException.class, failed::await);
    assertFalse(next.isDone());
    work.step();
    next.await();
    assertEquals(2, driver.mapped.size());
  }

  @Test
  void step_driverFailsWhereNobodyWaits_isLeftUntilItIsTouchedAgain() {
    plan(0, 7);
    driver.failAfter(0);
    work.step();
    assertTrue(work.isDone());
    plan(1, 8);
    work.step();
    assertEquals(2, driver.mapped.size());
  }

  @Test
  void finish_doesAll_andTellsWhatWentWrong() {
    planAll();
    CudaEvent waiting = await(4);
    assertNull(work.finish());
    assertTrue(waiting.isDone());
    assertEquals(SLOTS, driver.mapped.size());
    plan(0, 0);
    plan(0, 99);
    driver.failAfter(0);
    assertNotNull(work.finish());
  }

  @Test
  void finishAwaited_deviceIsClosed_whoeverWaitsIsToldSo() {
    planAll();
    CudaEvent waiting = await(6);
    closed = true;
    work.finishAwaited();
    StatusException told = assertThrows(StatusException.class, waiting::await);
    assertEquals(Status.UNAVAILABLE, told.status());
  }
}
