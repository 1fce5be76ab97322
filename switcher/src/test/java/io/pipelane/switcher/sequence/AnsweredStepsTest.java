package io.pipelane.switcher.sequence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What whoever hears of a step's end finds from that moment on; there is room for one state. */
class AnsweredStepsTest extends SequencesOfOneModel {
  private static final int MOST = Sequences.MOST;

  private final List<String> told = new CopyOnWriteArrayList<>();
  private Executor lane = Runnable::run;
  private boolean failing;

  AnsweredStepsTest() {
    super(2 * ROW, MOST * ROW);
  }

  @Override
  Ticket run(InferenceRequest request, ResultHandler handler) {
    lane.execute(() -> compute(request, handler));
    return Ticket.ENDED;
  }

  private void compute(InferenceRequest request, ResultHandler handler) {
    if (failing) {
      handler.failed(StatusException.unavailable("on demand"));
      return;
    }
    for (String output : request.outputs()) {
      handler.place(output, TensorType.FP32, Shape.of(1, WIDTH), ROW).fill((byte) 0);
    }
    handler.completed(new InferenceTimings(0, 0, 0, 1, 0));
  }

  private void step(String id, boolean start, boolean end, String name, Runnable then) {
    Ticket _ = sequences.submit(request(new SequenceStep(id, start, end)), new Answer(name, then));
  }

  private InferenceRequest request(SequenceStep step) {
    return request(step, Priority.ONLINE, 1, 0);
  }

  /** The answer to a step, and what whoever hears of it does. */
  private final class Answer implements ResultHandler {
    private final String name;
    private final Runnable then;

    Answer(String name, Runnable then) {
      this.name = name;
      this.then = then;
    }

    @Override
    public MemorySegment place(String output, TensorType type, Shape shape, long size) {
      return Arena.ofAuto().allocate(size, 64);
    }

    @Override
    public void completed(InferenceTimings timings) {
      then.run();
      told.add(name);
    }

    @Override
    public void failed(StatusException error) {
      then.run();
      told.add(name + " " + error.status());
    }
  }

  private void begin(String id) {
    step(id, true, false, "begun " + id, () -> {});
  }

  @Test
  void stateOfAnAnsweredStep_leavesForOneThatBegins() {
    step("a", true, false, "a", () -> begin("b"));
    assertEquals(List.of("begun b", "a"), told);
    assertEquals(1, sequences.overview().timesWrittenOut());
  }

  @Test
  void stateOfAnEndedSequence_leavesItsRoomToOneThatBegins() {
    step("a", true, true, "a", () -> begin("b"));
    assertEquals(List.of("begun b", "a"), told);
    assertEquals(0, sequences.overview().timesWrittenOut());
  }

  @Test
  void sequenceWhoseEndIsBeingTold_leavesItsPlaceToOneThatBegins() {
    for (int i = 1; i < MOST; i++) {
      begin("s" + i);
    }
    step("a", true, true, "a", () -> begin("b"));
    assertEquals(List.of("begun b", "a"), told.subList(MOST - 1, MOST + 1));
    assertEquals(MOST, sequences.overview().sequences());
    StatusException refusal = assertThrows(StatusException.class, () -> begin("c"));
    assertEquals(Status.UNAVAILABLE, refusal.status(), refusal.getMessage());
  }

  /** As another thread does that has found its place, and is about to submit its step. */
  @Test
  void sequenceWhoseFirstStepIsAboutToCome_countsWhereThereAreAsManyAsMayBe() {
    for (int i = 1; i < MOST; i++) {
      begin("s" + i);
    }
    SequenceStep first = new SequenceStep("a", true, false);
    Sequence _ = sequences.find(request(first), first);
    StatusException refusal = assertThrows(StatusException.class, () -> begin("b"));
    assertEquals(Status.UNAVAILABLE, refusal.status(), refusal.getMessage());
  }

  @Test
  void stateOfAFailedStep_leavesForOneThatBegins() {
    begin("a");
    failing = true;
    Runnable beginAnother =
        () -> {
          failing = false;
          begin("b");
        };
    step("a", false, false, "a", beginAnother);
    assertEquals(List.of("begun a", "begun b", "a UNAVAILABLE"), told);
  }

  @Test
  void answersOfOneSequence_comeInTheOrderOfItsSteps() {
    CompletableFuture<Void> end = new CompletableFuture<>();
    Runnable sendMore =
        () -> {
          step("a", false, false, "second", () -> begin("b"));
          step("a", false, true, "third", () -> {});
          step("a", true, false, "fourth", () -> end.complete(null));
        };
    step("a", true, false, "first", sendMore);
    end.join(); // What comes back is begun by another thread.
    assertEquals(List.of("first", "begun b", "second", "third"), told.stream().limit(4).toList());
  }

  /** The thread that has told of its end may be about to take it out of the table. */
  @Test
  void sequenceThatHasEnded_beginsAnewForWhoHasHeardOfIt() {
    try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
      lane = thread;
      for (int i = 1; i <= 2_000; i++) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        step("a", true, true, "a", () -> end.complete(null));
        end.join();
      }
    }
    assertEquals(Collections.nCopies(2_000, "a"), told);
  }

  /** A thread that found it idle comes to say so when another step has been made meanwhile. */
  @Test
  void sequenceWhoseStepIsTold_isNotGoneBefore() throws Exception {
    HostStates host = new HostStates(0);
    StateMemory memory =
        new StateMemory(
            Priority.ONLINE,
            DeviceStates.ON_HOST,
            working,
            host,
            _ -> false,
            _ -> false,
            _ -> false,
            _ -> {});
    CompletableFuture<Void> isIdle = new CompletableFuture<>();
    CompletableFuture<Void> isTold = new CompletableFuture<>();
    Consumer<Sequence> whenIdle =
        _ -> {
          isIdle.complete(null);
          isTold.join();
        };
    Sequence sequence =
        new Sequence(
            memory,
            StatePairs.of(model, Map.of("t", new StateInput("s"))),
            this::run,
            Runnable::run,
            new StepBounds(1_000, 1 << 20),
            () -> {},
            whenIdle);
    SequenceStep whole = new SequenceStep("a", true, true);
    try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
      lane = thread;
      Ticket _ = sequence.submit(request(whole), whole, new Answer("first", () -> {}));
      isIdle.join();
      lane = Runnable::run;
      AtomicBoolean goneBefore = new AtomicBoolean();
      Runnable isSaidLate =
          () -> {
            goneBefore.set(sequence.endIfLeaving());
            isTold.complete(null);
          };
      @Nullable Ticket second =
          sequence.submit(request(whole), whole, new Answer("second", isSaidLate));
      isTold.complete(null);
      assertFalse(second != null && goneBefore.get());
    }
  }

  @Test
  void handlerThatFails_keepsNoStepBehindItWaiting() {
    CompletableFuture<Void> end = new CompletableFuture<>();
    Runnable fail =
        () -> {
          throw new IllegalStateException("on demand");
        };
    Runnable sendMore =
        () -> {
          step("a", false, false, "second", fail);
          step("a", true, false, "third", () -> end.complete(null));
        };
    try (ExecutorService thread = Executors.newCachedThreadPool()) {
      lane = thread;
      step("a", true, true, "first", sendMore);
      end.orTimeout(20, TimeUnit.SECONDS).join();
    }
    assertEquals(List.of("first", "third"), told);
  }

  @Test
  void sequenceThatEndsWhileItsStepIsTold_givesItsStateBack() {
    step("a", true, false, "a", () -> sequences.end(model.version(), "", "a"));
    assertEquals(List.of("a"), told);
    assertEquals(2 * ROW, working.freeBytes());
    assertEquals(0, sequences.overview().sequences());
  }
}
