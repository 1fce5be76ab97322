package io.pipelane.server.statistics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.Status;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.statistics.ModelCounters.Objective;
import io.pipelane.server.statistics.ModelCounters.Total;
import io.pipelane.switcher.InferenceTimings;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ModelCountersTest {
  private static final ModelVersion MODEL = new ModelVersion("m", 1);

  private final InferenceStatistics statistics = new InferenceStatistics();

  private RequestAccount ran(long rows, int batch, int place) {
    RequestAccount account = statistics.begin(MODEL);
    account.decoded(OptionalLong.empty(), rows);
    account.ran(new InferenceTimings(1, 0, 100, batch, place));
    return account;
  }

  private ModelCounters counters() {
    return statistics.of(MODEL);
  }

  @Test
  void execution_countsThoughItsFirstRequestIsNotAnswered() {
    ran(1, 2, 0).failed(Status.CANCELLED);
    ran(1, 2, 1).answered();
    assertEquals(1, counters().executions());
    assertEquals(1, counters().success().count());
  }

  /** A caller who gives up on a late answer would otherwise make the server look punctual. */
  @Test
  void callerThatGoes_countsAgainstTheObjectiveOnceItsTimeHasPassed() {
    long now = System.nanoTime();
    due(now + TimeUnit.HOURS.toNanos(1)).failed(Status.CANCELLED);
    assertEquals(OptionalDouble.empty(), counters().attainment());
    due(now - 1).failed(Status.CANCELLED);
    assertEquals(1, counters().objectives(Objective.FAILED));
    assertEquals(OptionalDouble.of(0), counters().attainment());
    assertEquals(0, counters().answeredInTime());
  }

  private RequestAccount due(long deadlineNanos) {
    RequestAccount account = statistics.begin(MODEL);
    account.decoded(OptionalLong.of(deadlineNanos));
    return account;
  }

  @Test
  void inferences_areRows() {
    ran(3, 1, 0).answered();
    ran(2, 1, 0).failed(Status.CANCELLED);
    assertEquals(3, counters().inferences());
    assertEquals(1, counters().success().count());
  }

  @Test
  void batches_areCountedByAllTheirRowsOncePerRun() {
    ran(2, 2, 0).answered();
    ran(2, 2, 1).answered();
    ran(1, 1, 0).answered();
    List<BatchCounters> batches = counters().batches();
    assertEquals(List.of(1L, 4L), batches.stream().map(BatchCounters::size).toList());
    assertEquals(new Total(1, 100), batches.getLast().execute());
    assertEquals(1, batches.getLast().decode().count());
  }

  @Test
  void batches_haveALimitedNumberOfSizes() {
    for (int rows = 1; rows <= 1000; rows++) {
      ran(rows, 1, 0).answered();
    }
    assertEquals(256, counters().batches().size());
    assertEquals(1000, counters().executions());
  }

  @Test
  void requestThatIsWithdrawn_countsNothing() {
    RequestAccount account = statistics.begin(MODEL);
    account.withdrawn();
    account.failed(Status.NOT_FOUND);
    assertEquals(0, counters().pending());
    assertEquals(0, counters().failure().count());
    assertEquals(0, counters().success().count());
  }

  @Test
  void rows_areThoseOfAFirstAxisThatIsOpen() {
    assertEquals(3, BatchRows.of(declared(Shape.of(-1, 4)), sent(Shape.of(3, 4))));
    assertEquals(1, BatchRows.of(declared(Shape.of(3, 4)), sent(Shape.of(3, 4))));
    assertEquals(1, BatchRows.of(declared(Shape.of()), sent(Shape.of())));
    assertEquals(1, BatchRows.of(List.of(), List.of()));
    List<TensorSpec> two = declared(Shape.of(-1), Shape.of(-1, 2));
    assertEquals(5, BatchRows.of(two, sent(Shape.of(5), Shape.of(5, 2))));
    assertEquals(1, BatchRows.of(two, sent(Shape.of(5), Shape.of(6, 2))));
    assertEquals(1, BatchRows.of(two, sent(Shape.of(0), Shape.of(0, 2))));
  }

  private static List<TensorSpec> declared(Shape... shapes) {
    return Arrays.stream(shapes).map(shape -> new TensorSpec("x", TensorType.FP32, shape)).toList();
  }

  private static List<InputTensor> sent(Shape... shapes) {
    return Arrays.stream(shapes)
        .map(shape -> new InputTensor("x", TensorType.FP32, shape, MemorySegment.NULL))
        .toList();
  }
}
