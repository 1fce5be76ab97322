package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Padding.Verdict;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BucketedInvocationTest {
  private static final Padding HARMLESS = new Padding(Verdict.HARMLESS, "");
  private static final FloatInvocation THREE_ROWS =
      new FloatInvocation(new float[] {1, 2, 3, 4, 5, 6}, Shape.of(3, 2));

  private static ImportedModel model(Padding padding, Integer... buckets) {
    Path nowhere = Path.of("nowhere");
    Plan plan =
        new Plan(
            "hash",
            List.of(new TensorSpec("x", TensorType.FP32, Shape.of(-1, 2))),
            List.of(new TensorSpec("y", TensorType.FP32, Shape.of(-1, 1))),
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            0,
            0,
            0,
            padding,
            Batching.notApplicable("nobody has tried"),
            false,
            0,
            false,
            List.of());
    return new ImportedModel(new ModelVersion("m", 1), plan, nowhere, nowhere)
        .withBuckets(List.of(buckets));
  }

  @Test
  void of_aBatchBetweenBuckets_repeatsTheLastRowAndCutsTheAnswer() {
    try (BucketedInvocation filled =
        BucketedInvocation.of(THREE_ROWS, model(HARMLESS, 2, 5, 8)).orElseThrow()) {
      assertEquals(Shape.of(5, 2), filled.inputs().getFirst().shape());
      assertArrayEquals(
          new float[] {1, 2, 3, 4, 5, 6, 5, 6, 5, 6},
          filled.inputs().getFirst().data().toArray(ValueLayout.JAVA_FLOAT));
      MemorySegment answer = filled.place("y", TensorType.FP32, Shape.of(5, 1), 20);
      answer.copyFrom(MemorySegment.ofArray(new float[] {7, 8, 9, 9, 9}));
      filled.cut();
      assertArrayEquals(new float[] {7, 8, 9}, THREE_ROWS.output());
    }
  }

  /** How many rows there are may follow from the values, which import's were others than these. */
  @Test
  void place_anOutputWithoutARowForEach_isRefused() {
    try (BucketedInvocation filled =
        BucketedInvocation.of(THREE_ROWS, model(HARMLESS, 5)).orElseThrow()) {
      for (Shape shape : List.of(Shape.of(4, 1), Shape.of(1, 4), Shape.of())) {
        long bytes = shape.elements() * Float.BYTES;
        StatusException refusal =
            assertThrows(
                StatusException.class, () -> filled.place("y", TensorType.FP32, shape, bytes));
        assertEquals(Status.INTERNAL, refusal.status());
      }
    }
  }

  @Test
  void run_anOutputWithoutARowForEach_runsAsItCame() {
    List<Long> ran = new ArrayList<>();
    long padded =
        BucketedInvocation.run(
            THREE_ROWS,
            model(HARMLESS, 5),
            invocation -> {
              long rows = invocation.inputs().getFirst().shape().dimension(0);
              ran.add(rows);
              invocation
                  .place("y", TensorType.FP32, Shape.of(rows == 5 ? 4 : 3, 1), 4 * rows)
                  .copyFrom(MemorySegment.ofArray(new float[] {rows, 8, 9}));
            });
    assertEquals(List.of(5L, 3L), ran);
    assertEquals(0, padded);
    assertArrayEquals(new float[] {3, 8, 9}, THREE_ROWS.output());
  }

  @Test
  void run_whatFailsOtherwise_failsOnce() {
    List<Invocation> ran = new ArrayList<>();
    StatusException failure = new StatusException(Status.INTERNAL, "it fails");
    assertSame(
        failure,
        assertThrows(
            StatusException.class,
            () ->
                BucketedInvocation.run(
                    THREE_ROWS,
                    model(HARMLESS, 5),
                    invocation -> {
                      ran.add(invocation);
                      throw failure;
                    })));
    assertEquals(1, ran.size());
  }

  @Test
  void of_whatNeedNotOrMustNotBeFilledUp_isLeft() {
    assertLeft(model(HARMLESS));
    assertLeft(model(HARMLESS, 3, 8));
    assertLeft(model(HARMLESS, 1, 2));
    assertLeft(model(new Padding(Verdict.CHANGES_ANSWERS, ""), 8));
    assertLeft(model(Padding.notApplicable("fixed"), 8));
  }

  private static void assertLeft(ImportedModel model) {
    Optional<BucketedInvocation> filled = BucketedInvocation.of(THREE_ROWS, model);
    assertTrue(filled.isEmpty());
  }
}
