package io.pipelane.switcher.sequence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.BoundedReservations;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A step that comes between any two things that a thread does with its sequence. */
@Timeout(60)
class InterruptedStepsTest {
  private static final int WIDTH = 16;
  private static final long STATE = WIDTH * (long) Float.BYTES;

  @TempDir Path folder;

  @Test
  @SuppressWarnings("unchecked") // It is of another class loader, and shares Java's types alone.
  void stepThatComesAtAnyMoment_passesNobody() throws Exception {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    Class<?> loaded = new ReleasedMonitors(Sequence.class).loadClass(StepAtAMoment.class.getName());
    int moments = 0;
    int came = 4;
    while (came == 4) {
      Object run = loaded.getDeclaredConstructor().newInstance();
      List<Integer> told =
          ((BiFunction<ImportedModel, Integer, List<Integer>>) run).apply(model, moments);
      came = told.size();
      assertEquals(IntStream.range(0, came).boxed().toList(), told, "at moment " + moments);
      moments++;
    }
    assertTrue(moments > 5, moments + " moments");
  }

  /**
   * Has a sequence make three steps, of which two come while the first one is told, and one more at
   * a moment, counted from then; answers their numbers as they came, in the order in which they
   * were told.
   */
  public static final class StepAtAMoment
      implements BiFunction<ImportedModel, Integer, List<Integer>> {
    private final List<Integer> told = new ArrayList<>();
    private int came;
    private int moments;

    public StepAtAMoment() {}

    @Override
    public List<Integer> apply(ImportedModel model, Integer moment) {
      BoundedReservations working = new BoundedReservations(2 * STATE);
      StateMemory memory =
          new StateMemory(
              Priority.ONLINE,
              DeviceStates.ON_HOST,
              working,
              new HostStates(0),
              _ -> false,
              _ -> false,
              _ -> false,
              _ -> {});
      Sequence sequence =
          new Sequence(
              memory,
              StatePairs.of(model, Map.of("t", new StateInput("s"))),
              StepAtAMoment::run,
              Runnable::run,
              new StepBounds(1_000, 1 << 20),
              () -> {},
              _ -> {});
      Runnable step = () -> step(sequence, model, () -> {});
      Runnable stepTwice =
          () -> {
            step.run();
            step.run();
            ReleasedMonitors.Between.happens =
                () -> {
                  if (moments++ == moment) {
                    step.run();
                  }
                };
          };
      step(sequence, model, stepTwice);
      ReleasedMonitors.Between.happens = () -> {};
      ReleasedMonitors.Between.throwFailure();
      sequence.end();
      assertEquals(came, told.size(), "steps were told at moment " + moment);
      assertEquals(2 * STATE, working.freeBytes());
      return told;
    }

    private void step(Sequence sequence, ImportedModel model, Runnable whenTold) {
      int number = came++;
      SequenceStep step = new SequenceStep("a", number == 0, false);
      MemorySegment data = Arena.ofAuto().allocate(STATE, 64);
      InferenceRequest request =
          new InferenceRequest(
              model.version(),
              List.of(new InputTensor("x", TensorType.FP32, Shape.of(1, WIDTH), data)),
              List.of("y"),
              OptionalLong.empty(),
              Priority.ONLINE,
              Optional.of(step));
      ResultHandler answer =
          new ResultHandler() {
            @Override
            public MemorySegment place(String output, TensorType type, Shape shape, long size) {
              return Arena.ofAuto().allocate(size, 64);
            }

            @Override
            public void completed(InferenceTimings timings) {
              told.add(number);
              whenTold.run();
            }

            @Override
            public void failed(StatusException error) {
              throw error;
            }
          };
      Ticket _ = sequence.submit(request, step, answer);
    }

    private static Ticket run(InferenceRequest request, ResultHandler handler) {
      for (String output : request.outputs()) {
        handler.place(output, TensorType.FP32, Shape.of(1, WIDTH), STATE).fill((byte) 0);
      }
      handler.completed(new InferenceTimings(0, 0, 0, 1, 0));
      return Ticket.ENDED;
    }
  }
}
