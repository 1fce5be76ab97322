package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Runs that need more than their lane (Salus, short paper §2.2): none fails that could run alone,
 * persistent and ephemeral memory together no larger than the device.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailsafeTest {
  private static final long MIB = 1 << 20;
  private static final int WEIGHTS_MIB = 4;
  private static final int WORKING_MIB = 8;

  private final Device device =
      CpuDevice.open(new ByteSize(WEIGHTS_MIB * MIB), new ByteSize(MIB), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final SteppedSessions sessions = new SteppedSessions(memory);
  private final Switcher switcher =
      new Switcher(
          device,
          memory,
          sessions,
          new SwitcherSettings(
              WEIGHTS_MIB * MIB,
              WORKING_MIB * MIB,
              2,
              1_000,
              1 << 20,
              new EqualBytesGrouping(8, 1)),
          BoundSessions::weights);

  @AfterEach
  void everythingIsGivenBack() {
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
    switcher.submit(Call.request(model.version(), 1f), call);
    return call;
  }

  private static void requireAnswer(ImportedModel model, Call call) {
    float number = BoundSessions.number(model.version());
    assertArrayEquals(new float[] {number, number}, call.await());
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** It is refused, and begins anew only so often: what has been found out about it stays known. */
  @Test
  void runThatHasNoRoomBesideItsOwnSession_isRefused_andOthersOfItsShapesAreNot() {
    sessions.constantBytes = 2 * MIB;
    ImportedModel model = registered(1, WEIGHTS_MIB);
    sessions.steps = _ -> WORKING_MIB - 1;
    StatusException refused = assertThrows(StatusException.class, submit(model)::await);
    assertEquals(Status.INSUFFICIENT_MEMORY, refused.status(), refused.toString());
    sessions.steps = _ -> 1;
    requireAnswer(model, submit(model));
  }

  /** The arXiv text's figure 6, in MiB: C = 12, P = 1 and 1, E = 7 and 7, taken in steps. */
  @Test
  void twoRunsThatTakeInStepsMoreThanThereIs_bothGetDone() {
    ImportedModel idle = registered(3, 2);
    switcher.warmUp(idle.version());
    List<ImportedModel> models = List.of(registered(1, 1), registered(2, 1));
    CountDownLatch bothHoldFive = new CountDownLatch(2);
    sessions.steps = _ -> 7;
    sessions.taken =
        (_, count) -> {
          if (count == 5) {
            bothHoldFive.countDown();
            await(bothHoldFive);
          }
        };
    List<Call> calls = models.stream().map(this::submit).toList();
    for (int i = 0; i < 2; i++) {
      requireAnswer(models.get(i), calls.get(i));
    }
    assertTrue(sessions.runs.get() > 2, "one of them was begun anew");
    assertTrue(switcher.transfers().failsafePagings() > 0, "the idle model gave way");
    sessions.steps = _ -> 1;
    requireAnswer(idle, submit(idle));
  }

  /** Each fits alone, 3 + 8 of 12; each holds weights that the other's lane needs. */
  @Test
  void twoRunsOfWhichEachNeedsWhatTheOtherOnesWeightsLieIn_bothGetDone() {
    List<ImportedModel> models = List.of(registered(1, 2), registered(2, 2));
    CountDownLatch bothHoldFour = new CountDownLatch(2);
    sessions.steps = _ -> 10;
    sessions.taken =
        (_, count) -> {
          if (count == 4) {
            bothHoldFour.countDown();
            await(bothHoldFour);
          }
        };
    List<Call> calls = models.stream().map(this::submit).toList();
    for (int i = 0; i < 2; i++) {
      requireAnswer(models.get(i), calls.get(i));
    }
    calls = models.stream().map(this::submit).toList(); // What they need is known from now on.
    for (int i = 0; i < 2; i++) {
      requireAnswer(models.get(i), calls.get(i));
    }
    assertTrue(switcher.transfers().failsafePagings() > 0);
  }

  @Test
  void runThatCouldNotRunAlone_isRefusedAndTheNextIsRight() {
    ImportedModel model = registered(1, 2);
    sessions.steps = _ -> 11;
    Call call = submit(model);
    assertEquals(
        Status.INSUFFICIENT_MEMORY, assertThrows(StatusException.class, call::await).status());
    sessions.steps = _ -> 10;
    ImportedModel other = registered(2, 2);
    requireAnswer(other, submit(other));
  }

  /** What is known of a run is what the one before took, and this one may take ten times that. */
  @Test
  void manyRunsWhosePredictionsAreTooLow_allGetDone() throws Exception {
    List<ImportedModel> models = List.of(registered(1, 2), registered(2, 1), registered(3, 2));
    sessions.steps = _ -> ThreadLocalRandom.current().nextInt(1, 11);
    manyRuns(models, 60);
    assertTrue(switcher.transfers().failsafePagings() > 0);
  }

  @Test
  void manyRunsWhosePredictionsAreHalfOfWhatTheyTake_allGetDone() throws Exception {
    List<ImportedModel> models = List.of(registered(1, 2), registered(2, 1), registered(3, 2));
    sessions.steps = _ -> 4;
    models.forEach(model -> requireAnswer(model, submit(model)));
    sessions.steps = _ -> 8;
    manyRuns(models, 20);
  }

  private void manyRuns(List<ImportedModel> models, int count) throws Exception {
    long seed = System.nanoTime();
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> clients = new ArrayList<>();
      for (int c = 0; c < 4; c++) {
        Random random = new Random(seed + c);
        clients.add(
            threads.submit(
                () -> {
                  for (int k = 0; k < count; k++) {
                    ImportedModel model = models.get(random.nextInt(models.size()));
                    requireAnswer(model, submit(model));
                    switcher.verify();
                  }
                }));
      }
      for (Future<?> client : clients) {
        client.get();
      }
    } catch (Exception e) {
      throw new AssertionError("seed " + seed, e);
    }
  }
}
