package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Pages of weights that lanes have borrowed beside a run that is killed with its process, which
 * stays for as long as a test wants.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StuckLoansTest {
  private static final long MIB = 1 << 20;
  private static final int WEIGHTS_MIB = 4;
  private static final int WORKING_MIB = 8;

  private final CpuDevice device =
      CpuDevice.open(new ByteSize(WEIGHTS_MIB * MIB), new ByteSize(MIB), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final SteppedSessions sessions = new SteppedSessions(memory);
  private final Switcher switcher =
      new Switcher(
          device,
          memory,
          sessions,
          new SwitcherSettings(
              WEIGHTS_MIB * MIB, WORKING_MIB * MIB, 2, 100, MIB, new EqualBytesGrouping(8, 1)),
          BoundSessions::weights);
  private final CountDownLatch gone = new CountDownLatch(1);

  @AfterEach
  void everythingIsGivenBack() {
    gone.countDown();
    while (switcher.memory().lanes().open() > 0) {
      Thread.onSpinWait();
    }
    switcher.verify();
    assertEquals(0, switcher.memory().weights().lanesBytes(), "lanes have given all back");
    switcher.close();
    assertEquals(device.pages().total(), device.pages().free());
    device.close();
  }

  private ImportedModel registered(int number, int weightsMib) {
    ImportedModel model =
        BoundSessions.model(Integer.toString(number), "of " + number, weightsMib * MIB);
    switcher.register(model);
    return model;
  }

  private Call submit(ImportedModel model) {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), 1), call);
    return call;
  }

  private void requireAnswer(ImportedModel model) {
    float number = BoundSessions.number(model.version());
    assertArrayEquals(new float[] {number, number}, submit(model).await());
  }

  private void requireUnavailable(ImportedModel model) {
    StatusException error = assertThrows(StatusException.class, submit(model)::await);
    assertEquals(Status.UNAVAILABLE, error.status(), error.toString());
    assertTrue(error.retryAfter() != null, error.toString());
    assertTrue(error.toString().contains("its worker stays"), error.toString());
  }

  /** Has the runs of a structure end so once they have taken so many steps. */
  private void stickAfter(String structure, int steps) {
    sessions.taken =
        (of, count) -> {
          if (of.equals(structure) && count == steps) {
            throw new WorkerStuckException("its worker stays", Blame.OTHERS, this::awaitGone);
          }
        };
  }

  private void awaitGone() {
    try {
      gone.await();
    } catch (InterruptedException e) {
      throw new AssertionError("nobody interrupts a run", e);
    }
  }

  @Test
  void request_needsPagesThatAStuckRunsLaneHasBorrowed_isRefused() {
    ImportedModel stays = registered(1, 1);
    ImportedModel large = registered(2, 3);
    sessions.steps = structure -> structure.equals("of 1") ? WORKING_MIB + 2 : 1;
    stickAfter("of 1", WORKING_MIB + 2);
    requireUnavailable(stays);
    assertEquals(2 * MIB, switcher.memory().weights().lanesBytes());
    requireUnavailable(large);
    gone.countDown();
    while (switcher.memory().lanes().open() > 0) {
      Thread.onSpinWait();
    }
    requireAnswer(large);
  }

  /** It keeps what it has in its lane, not what somebody else has borrowed beside it. */
  @Test
  void request_needsPagesThatAnotherRunHadBorrowedBesideAStuckOne_hasThem() {
    AtomicBoolean tried = new AtomicBoolean();
    sessions.building =
        structure -> {
          if (structure.equals("of 1") && tried.compareAndSet(false, true)) {
            throw new OutOfDeviceMemoryException(1); // Room is made for it then.
          }
        };
    ImportedModel stays = BoundSessions.model("1", "of 1", MIB);
    switcher.announce(stays, ModelOptions.DEFAULT);
    ImportedModel borrows = registered(2, 1);
    ImportedModel large = registered(3, 3);
    sessions.steps = structure -> structure.equals("of 2") ? WORKING_MIB : 1;
    stickAfter("of 1", 1);
    requireUnavailable(stays);
    assertTrue(tried.get());
    requireAnswer(borrows);
    requireAnswer(large);
  }
}
