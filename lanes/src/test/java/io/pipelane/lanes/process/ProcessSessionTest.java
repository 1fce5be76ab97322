package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sessions in one worker process, the same in all tests: none of them loses it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // start() fills the field.
class ProcessSessionTest {
  /** Who stands for so long on a busy machine has gone on unseen, and stands at its next gate. */
  private static final long MISSED_NANOS = 1_000_000_000;

  private static WorkerFixture workers;

  @TempDir Path folder;

  @BeforeAll
  static void start() {
    workers = new WorkerFixture(new TestWorkers(0));
  }

  @AfterEach
  void nothingIsLeft() {
    workers.clear();
  }

  @AfterAll
  static void end() {
    workers.close();
    assertEquals(List.of(), workers.sessions.workers().workers());
    assertEquals(0, workers.sessions.workers().lost());
  }

  private ImportedModel branches() throws Exception {
    return TestImports.of(TestModels.branches(1), "branches", folder);
  }

  @Test
  void run_weightsThatMoveToOtherPages_answersTheSame() throws Exception {
    ImportedModel model = branches();
    AddressRange range = workers.filled(model);
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, range)) {
      float[] expected = workers.run(session, x);
      assertEquals(1, workers.active().sessions());
      range.map(0, swapped(range));
      workers.fill(model, range);
      assertArrayEquals(expected, workers.run(session, x));
      try (ModelSession second = workers.gated(model, workers.filled(model))) {
        assertArrayEquals(expected, workers.run(second, x));
        assertArrayEquals(expected, workers.run(session, x));
      }
    }
    assertEquals(0, workers.active().sessions());
  }

  /** Takes the first slot's page away, and one that was not used before. */
  private Page swapped(AddressRange range) {
    var other = workers.device.pages().take().orElseThrow();
    workers.device.pages().giveBack(range.unmap(0));
    return other;
  }

  @Test
  void run_weightsThatArriveLate_waitsForThem() throws Exception {
    ImportedModel model = branches();
    AddressRange range = workers.filled(model);
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, range)) {
      float[] expected = workers.run(session, x);
      LateWeights late = new LateWeights(model.plan().segments().size());
      Thread arriving = Thread.ofPlatform().start(() -> late.events.forEach(e -> e.complete(null)));
      assertArrayEquals(expected, workers.run(session, x, bytes -> false, late));
      arriving.join();
    }
  }

  @Test
  void run_tellsHowLongItsSegmentsComputed() throws Exception {
    ImportedModel model = branches();
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      ToldTimes told = new ToldTimes();
      for (int run = 1; told.runs.isEmpty() && run <= 40; run++) { // A GPU's are seldom measured.
        float[] _ = workers.run(session, WorkerFixture.random(2, 1), bytes -> false, told);
      }
      assertEquals(model.plan().segments().size(), told.runs.getFirst().length);
    }
  }

  /** Its thread may wait for its turn in the server, before anything is asked of the worker. */
  @Test
  void run_thatWaitsBeforeItIsGiven_isLearntWithoutThat() throws Exception {
    ImportedModel model = branches();
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      ExpectedTime time = ((ProcessSession) session).times().of(WorkerFixture.inputs(x));
      long before = time.nanos(false);
      assertTrue(before > 0);
      long pauseNanos = 4 * before + MISSED_NANOS;
      PresentWeights paused =
          new PresentWeights() {
            @Override
            public Elsewhere computesElsewhere(StopWord word) {
              long begin = System.nanoTime();
              while (System.nanoTime() - begin < pauseNanos) {
                Thread.onSpinWait();
              }
              return () -> {};
            }
          };
      assertArrayEquals(expected, workers.run(session, x, bytes -> false, paused));
      assertTrue(time.nanos(false) < before + pauseNanos / 8, "a quarter would be learnt at once");
    }
  }

  /** Whoever waits for the device need not wait for what is copied behind it. */
  @Test
  void run_thatHasComputed_saysSoOnceBeforeItIsBack() throws Exception {
    ImportedModel model = branches();
    float[] x = WorkerFixture.random(2, 1);
    List<String> told = new ArrayList<>();
    PresentWeights weights =
        new PresentWeights() {
          @Override
          public Elsewhere computesElsewhere(StopWord word) {
            return new Elsewhere() {
              @Override
              public void computed() {
                told.add("computed");
              }

              @Override
              public void close() {
                told.add("back");
              }
            };
          }
        };
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      // One of these a GPU may capture, which goes on behind its answer.
      assertArrayEquals(expected, workers.run(session, x));
      assertArrayEquals(expected, workers.run(session, x));
      assertArrayEquals(expected, workers.run(session, x, bytes -> false, weights));
      assertEquals(List.of("computed", "back"), told);
    }
  }

  @Test
  void run_thatIsToStop_endsOnceItMayGoOn() throws Exception {
    ImportedModel model = branches();
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      StoppedWeights stopped = new StoppedWeights();
      CompletableFuture<float[]> answer = new CompletableFuture<>();
      Thread run =
          Thread.ofPlatform()
              .start(() -> answer.complete(workers.run(session, x, bytes -> false, stopped)));
      StopWord word = stopped.word.get();
      assertFalse(run.join(Duration.ofMillis(100)), "it is stopped at its first gate");
      while (!word.stands()) {
        Thread.onSpinWait();
      }
      word.allow(1);
      assertArrayEquals(expected, answer.get());
      run.join();
      assertTrue(stopped.isBack.get());
      assertArrayEquals(expected, workers.run(session, x), "nothing is left of the stop");
    }
  }

  @Test
  void run_thatIsEndedWhereItStands_failsForTheReasonAndTheNextIsRight() throws Exception {
    ImportedModel model = branches();
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      StoppedWeights stopped = new StoppedWeights();
      CompletableFuture<float[]> answer =
          CompletableFuture.supplyAsync(() -> workers.run(session, x, bytes -> false, stopped));
      StopWord word = stopped.word.get();
      while (!word.stands()) {
        Thread.onSpinWait();
      }
      StatusException reason = new StatusException(Status.CANCELLED, "nobody waits for it");
      word.end(reason);
      assertEquals(reason, assertThrows(ExecutionException.class, answer::get).getCause());
      assertTrue(stopped.isBack.get());
      assertArrayEquals(expected, workers.run(session, x), "nothing is left of the end");
      assertEquals(0, workers.sessions.workers().lost());
    }
  }

  /** A processor passes gates in any run; a GPU is given this one whole. */
  @Test
  void run_thatIsGivenWholeAndEnded_endsOnAProcessor() throws Exception {
    ImportedModel model = branches();
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      StatusException reason = new StatusException(Status.CANCELLED, "nobody waits for it");
      WeightArrivals ended = new EndedWeights(reason);
      if (TestDevices.ON_GPU) {
        assertArrayEquals(expected, workers.run(session, x, bytes -> false, ended));
      } else {
        assertEquals(
            reason,
            assertThrows(
                StatusException.class, () -> workers.run(session, x, bytes -> false, ended)));
      }
      assertArrayEquals(expected, workers.run(session, x), "nothing is left of the end");
    }
  }

  @Test
  void run_whoseLaneCannotGrowForAReason_failsForItAndTheNextIsRight() throws Exception {
    ImportedModel model = branches();
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      long limit = workers.region.limitBytes();
      workers.region.limit(TestModels.WIDTH * 2 * Float.BYTES); // The inputs have room.
      StatusException reason = new StatusException(Status.UNAVAILABLE, "no more for now");
      StatusException failure =
          assertThrows(
              StatusException.class,
              () ->
                  workers.run(
                      session,
                      x,
                      bytes -> {
                        throw reason;
                      },
                      WeightArrivals.PRESENT));
      assertEquals(reason, failure);
      workers.region.limit(limit);
      assertArrayEquals(expected, workers.run(session, x));
    }
  }

  /** The share of nearly nothing is kept by pauses in the worker, which end when it is raised. */
  @Test
  void run_thatIsSlowedDown_standsAtItsGatesAndAnswersTheSame() throws Exception {
    ImportedModel model = branches();
    assertTrue(model.plan().segments().size() > 1, "there is a gate to stand at");
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      StoppedWeights slowed = new StoppedWeights();
      CompletableFuture<float[]> answer = new CompletableFuture<>();
      Thread run =
          Thread.ofPlatform()
              .start(() -> answer.complete(workers.run(session, x, bytes -> false, slowed)));
      StopWord word = slowed.word.get();
      while (!word.stands()) {
        Thread.onSpinWait();
      }
      word.allow(0.000_1); // Its first segment has nothing to pause for.
      long allowed = System.nanoTime();
      while (word.stands() && System.nanoTime() - allowed < MISSED_NANOS) {
        Thread.onSpinWait();
      }
      while (!word.stands() && !answer.isDone()) { // On a busy machine all of it may be missed.
        Thread.onSpinWait();
      }
      word.allow(1);
      assertArrayEquals(expected, answer.get());
      run.join();
    }
  }

  @Test
  void run_weightsThatFailToArrive_throwsTheirReasonAndTheNextRunIsRight() throws Exception {
    ImportedModel model = branches();
    StatusException reason = new StatusException(Status.NOT_FOUND, "no weights");
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      LateWeights late = new LateWeights(model.plan().segments().size());
      late.events.getFirst().complete(null);
      Thread failing =
          Thread.ofPlatform().start(() -> late.events.reversed().forEach(e -> e.complete(reason)));
      StatusException error =
          assertThrows(StatusException.class, () -> workers.run(session, x, bytes -> false, late));
      assertEquals(reason.status(), error.status());
      assertTrue(error.toString().contains("no weights"), error.toString());
      failing.join();
      assertArrayEquals(expected, workers.run(session, x));
    }
  }

  @Test
  void run_regionIsTooSmall_growsOrSaysWhatWasRefused() throws Exception {
    ImportedModel model = branches();
    float[] x = WorkerFixture.random(64, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      long needed = workers.region.peakBytes();
      assertTrue(needed > 4L * x.length, "the peak is known here: " + needed);
      for (long limit = 0; limit < needed; limit += 4096) {
        workers.region.limit(limit);
        OutOfDeviceMemoryException error =
            assertThrows(OutOfDeviceMemoryException.class, () -> workers.run(session, x));
        assertTrue(error.refusedBytes() > 0 && error.refusedBytes() <= 8L * 4 * x.length);
      }
      workers.region.limit(0);
      float[] grown = workers.run(session, x, workers::grow, WeightArrivals.PRESENT);
      assertArrayEquals(expected, grown);
    }
  }

  @Test
  void gated_constantsDoNotFit_isOutOfMemoryAndLeavesNothing() throws Exception {
    // A bias of less than a kilobyte stays in the session.
    ImportedModel model = TestImports.of(TestModels.quantized(3, 1), "quantized", folder);
    AddressRange range = workers.filled(model);
    workers.constants.limit(0);
    assertThrows(OutOfDeviceMemoryException.class, () -> workers.gated(model, range).close());
    assertEquals(0, workers.constants.usedBytes());
    assertEquals(0, workers.active().sessions());
    workers.constants.limit(WorkerFixture.MIB);
    try (ModelSession session = workers.gated(model, range)) {
      float[] once = workers.run(session, WorkerFixture.random(1, 1));
      assertArrayEquals(once, workers.run(session, WorkerFixture.random(1, 1)));
      assertTrue(workers.constants.usedBytes() > 0);
    }
  }

  @Test
  void gated_modelThatCannotBeRead_isRefusedAndTheWorkerLives() throws Exception {
    ImportedModel model = branches();
    Files.write(model.gatedModel(), new byte[] {1, 2, 3});
    AddressRange range = workers.filled(model);
    StatusException error =
        assertThrows(StatusException.class, () -> workers.gated(model, range).close());
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertEquals(0, workers.active().sessions());
  }

  /** Weights that are there, of a run that is ended before it begins. */
  private record EndedWeights(StatusException reason) implements PresentWeights {
    @Override
    public Elsewhere computesElsewhere(StopWord word) {
      assertFalse(word.stops());
      word.end(reason);
      return () -> {};
    }
  }

  /** Weights of which each segment's come by an event of its own. */
  private static final class LateWeights implements WeightArrivals {
    final List<Completion> events = new ArrayList<>();

    LateWeights(int segments) {
      for (int i = 0; i < segments; i++) {
        events.add(new Completion());
      }
    }

    @Override
    public void await(int segment) {
      events.subList(0, segment + 1).forEach(Completion::await);
    }

    @Override
    public List<DeviceEvent> before(int segment) {
      Completion event = events.get(segment);
      return event.isDone() ? List.of() : List.of(event);
    }

    @Override
    public void stalled(long nanos) {
      assertTrue(nanos >= 0);
    }
  }
}
