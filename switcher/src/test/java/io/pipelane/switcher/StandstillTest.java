package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.LanesOverview;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs that are killed with their process, which stays for as long as a test wants. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StandstillTest {
  private static final int LANES = 2;
  private static final int THREADS = 2 * LANES;
  private static final long PAGE = 16 << 10;
  private static final long MODEL_BYTES = 4 * PAGE;
  private static final long WEIGHTS = 8 * MODEL_BYTES;

  private final CpuDevice device =
      CpuDevice.open(new ByteSize(WEIGHTS), new ByteSize(PAGE), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final SteppedSessions sessions = new SteppedSessions(memory);
  private final CountDownLatch gone = new CountDownLatch(1);

  @AfterEach
  void everythingIsGivenBack() {
    assertEquals(device.pages().total(), device.pages().free());
    device.close();
  }

  private Switcher open() {
    return open(THREADS * SteppedSessions.STEP_BYTES);
  }

  private Switcher open(long workingBytes) {
    SwitcherSettings settings =
        SwitcherSettings.of(
            WEIGHTS, workingBytes, LANES, 100, 1 << 20, new EqualBytesGrouping(4, 1));
    return new Switcher(device, memory, sessions, settings, BoundSessions::weights);
  }

  private static ImportedModel registered(Switcher switcher, int number) {
    ImportedModel model =
        BoundSessions.model(Integer.toString(number), "structure " + number, MODEL_BYTES);
    switcher.register(model);
    return model;
  }

  private void isStuck() {
    throw new WorkerStuckException("its worker stays", Blame.OTHERS, () -> Latches.await(gone));
  }

  private static Call submit(Switcher switcher, ImportedModel model) {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), 1), call);
    return call;
  }

  private static void assertUnavailable(StatusException error) {
    assertEquals(Status.UNAVAILABLE, error.status(), error.toString());
    assertTrue(error.retryAfter() != null, error.toString());
    assertTrue(error.toString().contains("its worker stays"), error.toString());
  }

  /** Otherwise it, and all that come after it, would wait for the process. */
  @Test
  void request_needsMemoryThatAStuckRunHolds_isRefusedAndOthersGoOn() throws Exception {
    sessions.steps =
        structure ->
            switch (structure) {
              case "structure 1" -> 3;
              case "structure 2" -> 2;
              default -> 1;
            };
    try (Switcher switcher = open();
        AutoCloseable _ = gone::countDown) {
      ImportedModel large = registered(switcher, 1);
      ImportedModel medium = registered(switcher, 2);
      ImportedModel small = registered(switcher, 3);
      assertArrayEquals(new float[] {2, 2}, submit(switcher, medium).await());
      sessions.taken =
          (structure, count) -> {
            if (structure.equals("structure 1") && count == 3) {
              isStuck();
            }
          };
      assertUnavailable(assertThrows(StatusException.class, submit(switcher, large)::await));
      assertUnavailable(assertThrows(StatusException.class, submit(switcher, medium)::await));
      assertArrayEquals(new float[] {3, 3}, submit(switcher, small).await());
      gone.countDown();
      while (switcher.memory().lanes().stuck() > 0) {
        Thread.onSpinWait();
      }
      assertArrayEquals(new float[] {2, 2}, submit(switcher, medium).await());
      switcher.verify();
    }
  }

  @Test
  void request_needsMemoryThatAStuckRunsWeightsAreIn_isRefusedAndOthersGoOn() throws Exception {
    try (Switcher switcher = open();
        AutoCloseable _ = gone::countDown) {
      ImportedModel stays = registered(switcher, 1);
      ImportedModel small = registered(switcher, 2);
      ImportedModel large = BoundSessions.model("3", "structure 3", WEIGHTS);
      switcher.register(large);
      sessions.taken =
          (structure, _) -> {
            if (structure.equals("structure 1")) {
              isStuck();
            }
          };
      assertUnavailable(assertThrows(StatusException.class, submit(switcher, stays)::await));
      assertUnavailable(assertThrows(StatusException.class, submit(switcher, large)::await));
      assertArrayEquals(new float[] {2, 2}, submit(switcher, small).await());
      gone.countDown();
      assertArrayEquals(new float[] {3, 3}, onceThereIsRoom(switcher, large));
      switcher.verify();
    }
  }

  /** The weights of a run that was stuck are given back right behind its lane. */
  private float[] onceThereIsRoom(Switcher switcher, ImportedModel model) throws Exception {
    while (true) {
      try {
        return submit(switcher, model).await();
      } catch (StatusException e) {
        assertUnavailable(e);
      }
    }
  }

  /** Room is made for one run after another, and kept until that has come to its end. */
  @Test
  void request_needsRoomForItsSession_isNotKeptFromItByAStuckRunThatHadMadeSome() throws Exception {
    Set<String> tried = ConcurrentHashMap.newKeySet();
    sessions.building =
        structure -> {
          if (tried.add(structure)) {
            throw new OutOfDeviceMemoryException(1); // Room is made for it then.
          }
        };
    sessions.taken =
        (structure, _) -> {
          if (structure.equals("structure 1")) {
            isStuck();
          }
        };
    try (Switcher switcher = open(32 << 20);
        AutoCloseable _ = gone::countDown) {
      ImportedModel stays = announced(switcher, 1);
      ImportedModel other = announced(switcher, 2);
      assertUnavailable(assertThrows(StatusException.class, submit(switcher, stays)::await));
      assertArrayEquals(new float[] {2, 2}, submit(switcher, other).await());
      assertEquals(Set.of("structure 1", "structure 2"), tried);
    }
  }

  private static ImportedModel announced(Switcher switcher, int number) {
    ImportedModel model =
        BoundSessions.model(Integer.toString(number), "structure " + number, MODEL_BYTES);
    switcher.announce(model, ModelOptions.DEFAULT);
    return model;
  }

  @Test
  void queuedRequests_allThreadsAreStuck_areRefusedAndTakenAgainOnceTheProcessesAreGone()
      throws Exception {
    CountDownLatch firstRun = new CountDownLatch(LANES);
    CountDownLatch queued = new CountDownLatch(1);
    sessions.taken =
        (structure, _) -> {
          firstRun.countDown();
          Latches.await(queued);
          isStuck();
        };
    try (Switcher switcher = open();
        AutoCloseable _ = gone::countDown) {
      ImportedModel model = registered(switcher, 1);
      ImportedModel other = registered(switcher, 2);
      List<Call> running = new ArrayList<>();
      for (int i = 0; i < LANES; i++) {
        running.add(submit(switcher, model));
      }
      firstRun.await();
      List<Call> waiting = new ArrayList<>();
      for (int i = 0; i < 3 * THREADS; i++) {
        waiting.add(submit(switcher, i % 3 == 0 ? other : model));
      }
      assertTrue(switcher.isUsable());
      queued.countDown();
      for (Call call : running) {
        assertUnavailable(assertThrows(StatusException.class, call::await));
      }
      for (Call call : waiting) {
        assertUnavailable(assertThrows(StatusException.class, call::await));
      }
      assertFalse(switcher.isUsable());
      LanesOverview lanes = switcher.memory().lanes();
      assertEquals(0, lanes.inUse());
      assertEquals(THREADS, lanes.stuck());
      assertUnavailable(assertThrows(StatusException.class, () -> submit(switcher, other)));
      sessions.taken = (_, _) -> {};
      gone.countDown();
      while (!switcher.isUsable() || switcher.memory().lanes().stuck() > 0) {
        Thread.onSpinWait();
      }
      assertArrayEquals(new float[] {2, 2}, submit(switcher, other).await());
      switcher.verify();
    }
  }
}
