package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
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
  private final SteppedSwitcher opened = new SteppedSwitcher();
  private final SteppedSessions sessions = opened.sessions;
  private final Switcher switcher = opened.switcher;

  @AfterEach
  void everythingIsGivenBack() {
    opened.close();
  }

  /** It is refused, and begins anew only so often: what has been found out about it stays known. */
  @Test
  void runThatHasNoRoomBesideItsOwnSession_isRefused_andOthersOfItsShapesAreNot() {
    sessions.constantBytes = 2 * SteppedSwitcher.MIB;
    ImportedModel model = opened.registered(1, SteppedSwitcher.WEIGHTS_MIB);
    sessions.steps = _ -> SteppedSwitcher.WORKING_MIB - 1;
    StatusException refused = assertThrows(StatusException.class, opened.submit(model)::await);
    assertEquals(Status.INSUFFICIENT_MEMORY, refused.status(), refused.toString());
    sessions.steps = _ -> 1;
    SteppedSwitcher.requireAnswer(model, opened.submit(model));
  }

  /** The arXiv text's figure 6, in MiB: C = 12, P = 1 and 1, E = 7 and 7, taken in steps. */
  @Test
  void twoRunsThatTakeInStepsMoreThanThereIs_bothGetDone() {
    ImportedModel idle = opened.registered(3, 2);
    switcher.warmUp(idle.version());
    List<ImportedModel> models = List.of(opened.registered(1, 1), opened.registered(2, 1));
    CountDownLatch bothHoldFive = new CountDownLatch(2);
    sessions.steps = _ -> 7;
    sessions.taken =
        (_, count) -> {
          if (count == 5) {
            bothHoldFive.countDown();
            Latches.await(bothHoldFive);
          }
        };
    List<Call> calls = models.stream().map(opened::submit).toList();
    for (int i = 0; i < 2; i++) {
      SteppedSwitcher.requireAnswer(models.get(i), calls.get(i));
    }
    assertTrue(sessions.runs.get() > 2, "one of them was begun anew");
    assertTrue(switcher.transfers().failsafePagings() > 0, "the idle model gave way");
    sessions.steps = _ -> 1;
    SteppedSwitcher.requireAnswer(idle, opened.submit(idle));
  }

  /** Each fits alone, 3 + 8 of 12; each holds weights that the other's lane needs. */
  @Test
  void twoRunsOfWhichEachNeedsWhatTheOtherOnesWeightsLieIn_bothGetDone() {
    List<ImportedModel> models = List.of(opened.registered(1, 2), opened.registered(2, 2));
    CountDownLatch bothHoldFour = new CountDownLatch(2);
    sessions.steps = _ -> 10;
    sessions.taken =
        (_, count) -> {
          if (count == 4) {
            bothHoldFour.countDown();
            Latches.await(bothHoldFour);
          }
        };
    List<Call> calls = models.stream().map(opened::submit).toList();
    for (int i = 0; i < 2; i++) {
      SteppedSwitcher.requireAnswer(models.get(i), calls.get(i));
    }
    calls = models.stream().map(opened::submit).toList(); // What they need is known from now on.
    for (int i = 0; i < 2; i++) {
      SteppedSwitcher.requireAnswer(models.get(i), calls.get(i));
    }
    assertTrue(switcher.transfers().failsafePagings() > 0);
  }

  @Test
  void runThatCouldNotRunAlone_isRefusedAndTheNextIsRight() {
    ImportedModel model = opened.registered(1, 2);
    sessions.steps = _ -> 11;
    Call call = opened.submit(model);
    assertEquals(
        Status.INSUFFICIENT_MEMORY, assertThrows(StatusException.class, call::await).status());
    sessions.steps = _ -> 10;
    ImportedModel other = opened.registered(2, 2);
    SteppedSwitcher.requireAnswer(other, opened.submit(other));
  }

  /** What is known of a run is what the one before took, and this one may take ten times that. */
  @Test
  void manyRunsWhosePredictionsAreTooLow_allGetDone() throws Exception {
    List<ImportedModel> models =
        List.of(opened.registered(1, 2), opened.registered(2, 1), opened.registered(3, 2));
    sessions.steps = _ -> ThreadLocalRandom.current().nextInt(1, 11);
    manyRuns(models, 60);
    assertTrue(switcher.transfers().failsafePagings() > 0);
  }

  @Test
  void manyRunsWhosePredictionsAreHalfOfWhatTheyTake_allGetDone() throws Exception {
    List<ImportedModel> models =
        List.of(opened.registered(1, 2), opened.registered(2, 1), opened.registered(3, 2));
    sessions.steps = _ -> 4;
    models.forEach(model -> SteppedSwitcher.requireAnswer(model, opened.submit(model)));
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
                    SteppedSwitcher.requireAnswer(model, opened.submit(model));
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
