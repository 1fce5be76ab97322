package io.pipelane.lanes.cpu.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.CpuSessionFixture;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What sessions on the processor answer, whether or not their outputs have a place. */
class CpuSessionOutputsTest extends CpuSessionFixture {
  private int refused; // How often the lane was not allowed to grow.
  private int mostRefused = Integer.MAX_VALUE;

  private ModelSession open(ModelProto proto) throws IOException {
    ImportedModel model = TestImports.of(proto, "model", folder);
    assertEquals(1, model.plan().segments().size());
    return sessions.gated(model, 0, null, new MemoryTarget.Persistent(constants));
  }

  private float[] run(ModelSession session, float... x) {
    return run(session, "y", x);
  }

  private float[] run(ModelSession session, String output, float... x) {
    return run(session, List.of(output), WeightArrivals.PRESENT, x);
  }

  /** What the last of the outputs is. */
  private float[] run(
      ModelSession session, List<String> outputs, WeightArrivals weights, float... x) {
    FloatInvocation invocation =
        new FloatInvocation(x, Shape.of(x.length)) {
          @Override
          public List<String> outputs() {
            return outputs;
          }
        };
    session.run(invocation, region, this::grow, weights);
    return invocation.output();
  }

  private boolean grow(long bytes) {
    if (refused == mostRefused) {
      region.limit(MIB);
      return true;
    }
    refused++;
    return false;
  }

  /** How many bytes of the lane were taken when segments began, in each attempt at a run. */
  private class Attempts implements WeightArrivals {
    /** A block of the lane, as one small input or place takes. */
    static final long BLOCK = EphemeralRegion.ALIGNMENT;

    final List<Long> usedBytes = new ArrayList<>();

    @Override
    public void giveWay(int segment) {
      usedBytes.add(region.usedBytes());
    }

    @Override
    public void await(int segment) {}

    @Override
    public List<DeviceEvent> before(int segment) {
      return List.of();
    }

    @Override
    public void stalled(long nanos) {}
  }

  /** Exporters write such files: without places ONNX Runtime answers, and warns. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void outputOfAnotherShapeThanTheModelDeclares_isAnsweredInEachRun(boolean isRankRight)
      throws IOException {
    GraphProto.Builder graph = OutputShapeModels.taking(TestModels.node("Abs", List.of("x"), "y"));
    graph.addOutput(
        isRankRight
            ? TestModels.value("y", TensorType.FP32, 1)
            : TestModels.value("y", TensorType.FP32, 1, 1));
    try (ModelSession session = open(TestModels.model(graph))) {
      for (int i = 0; i < 5; i++) {
        assertArrayEquals(new float[] {1, 2}, run(session, -1, 2));
      }
    }
  }

  @Test
  void run_shapesChangeAndRepeat_answersEach() throws IOException {
    try (ModelSession session = open(OutputShapeModels.negative())) {
      for (int round = 0; round < 4; round++) {
        for (float[] x : new float[][] {{1, 2}, {3, 4}, {5, 6}, {7}, {8}, {}, {}, {}}) {
          float[] expected = new float[x.length];
          for (int i = 0; i < x.length; i++) {
            expected[i] = -x[i];
          }
          assertArrayEquals(expected, run(session, x));
        }
      }
    }
  }

  @Test
  void run_shapeDependsOnValues_answersEach() throws IOException {
    try (ModelSession session = open(OutputShapeModels.packed())) {
      for (int round = 0; round < 3; round++) {
        assertArrayEquals(new float[] {1}, run(session, 1, 0, 0));
        assertArrayEquals(new float[] {2}, run(session, 0, 2, 0));
        assertArrayEquals(new float[] {1, 3}, run(session, 1, 0, 3));
        assertArrayEquals(new float[] {}, run(session, 0, 0, 0));
      }
    }
  }

  @Test
  void run_shapeDependsOnValuesWithinAnOperator_isMadeAnewOnce() throws IOException {
    try (ModelSession session = open(OutputShapeModels.packedInABranch())) {
      int attempts = 0;
      for (int round = 0; round < 3; round++) {
        Attempts counted = new Attempts();
        assertArrayEquals(new float[] {1, 2}, run(session, List.of("y"), counted, 1, 0, 2));
        assertArrayEquals(new float[] {0, 3, 4}, run(session, List.of("y"), counted, 0, 3, 4));
        assertArrayEquals(new float[] {5}, run(session, List.of("y"), counted, 5, 0, 0));
        attempts += counted.usedBytes.size();
      }
      assertEquals(9 + 1, attempts);
    }
  }

  @Test
  void run_shapeDependsOnHowOftenALoopRuns_isMadeAnewOnce() throws IOException {
    try (ModelSession session = open(OutputShapeModels.counting())) {
      Attempts attempts = new Attempts();
      for (float[] expected : new float[][] {{0}, {0, 1}, {0, 1, 2}, {}, {0, 1}}) {
        assertArrayEquals(expected, run(session, List.of("y"), attempts, (float) expected.length));
      }
      assertEquals(5 + 1, attempts.usedBytes.size());
    }
  }

  @Test
  void run_inputsAreLikeThoseBefore_outputHasAPlace() throws IOException {
    try (ModelSession session = open(OutputShapeModels.negative())) {
      for (int run = 1; run < 5; run++) {
        Attempts attempts = new Attempts();
        assertArrayEquals(new float[] {-run}, run(session, List.of("y"), attempts, run));
        long blocks = run == 1 ? 1 : 2;
        assertEquals(List.of(blocks * Attempts.BLOCK), attempts.usedBytes);
      }
    }
  }

  @Test
  void run_severalSegments_outputHasNoPlace() throws IOException {
    ModelProto model =
        OutputShapeModels.answering(
            OutputShapeModels.taking(
                TestModels.node("Neg", List.of("x"), "n"),
                TestModels.node("Abs", List.of("n"), "y")),
            "y");
    ImportedModel imported = TestImports.byTime(model, "model", folder);
    assertEquals(2, imported.plan().segments().size());
    try (ModelSession session =
        sessions.gated(imported, 0, null, new MemoryTarget.Persistent(constants))) {
      for (int run = 1; run < 5; run++) {
        Attempts attempts = new Attempts();
        assertArrayEquals(new float[] {run}, run(session, List.of("y"), attempts, run));
        assertEquals(2, attempts.usedBytes.size());
        assertEquals(Attempts.BLOCK, attempts.usedBytes.getFirst());
      }
    }
  }

  @Test
  void run_isEnded_isNotMadeAnew() throws IOException {
    StatusException why = new StatusException(Status.CANCELLED, "nobody wants it");
    Attempts attempts =
        new Attempts() {
          @Override
          public Here computesHere(Consumer<StatusException> end) {
            end.accept(why);
            return () -> {};
          }
        };
    try (ModelSession session = open(OutputShapeModels.negative())) {
      run(session, 1);
      run(session, 2);

      assertSame(
          why, assertThrows(StatusException.class, () -> run(session, List.of("y"), attempts, 3)));

      assertEquals(List.of(2 * Attempts.BLOCK), attempts.usedBytes);
      assertArrayEquals(new float[] {-4}, run(session, 4));
    }
  }

  @Test
  void run_shapeDependsOnValues_isMadeAnewOnceInASession() throws IOException {
    try (ModelSession session = open(OutputShapeModels.packed())) {
      assertEquals(List.of(1, 1), attemptsInTwoBindings(session, 1, 2));
      Attempts attempts = new Attempts();
      assertArrayEquals(new float[] {3}, run(session, List.of("y"), attempts, 3, 0));
      assertEquals(2, attempts.usedBytes.size());
      assertEquals(List.of(1, 1), attemptsInTwoBindings(session, 0, 4));
    }
  }

  /** Of two runs at a time, the second of which is made where the first is about to compute. */
  private List<Integer> attemptsInTwoBindings(ModelSession session, float... x) {
    Attempts second = new Attempts();
    Attempts first =
        new Attempts() {
          @Override
          public void giveWay(int segment) {
            super.giveWay(segment);
            run(session, List.of("y"), second, x);
          }
        };
    run(session, List.of("y"), first, x);
    return List.of(first.usedBytes.size(), second.usedBytes.size());
  }

  @Test
  void run_laneHasRoomForOneAttempt_isMadeAnewInIt() throws IOException {
    try (ModelSession session = open(OutputShapeModels.packed())) {
      float[] x = new float[8192];
      Arrays.fill(x, 1);
      region.resetPeak();
      assertArrayEquals(x, run(session, x));
      region.limit(region.peakBytes());
      for (int kept = x.length - 1; kept > x.length - 12; kept--) {
        x[kept] = 0;
        assertArrayEquals(Arrays.copyOf(x, kept), run(session, x));
      }
    }
  }

  @Test
  void run_placesDoNotFit_runsWithoutAndNoOtherTriesThem() throws IOException {
    GraphProto.Builder graph = OutputShapeModels.taking(TestModels.node("Neg", List.of("x"), "y"));
    try (ModelSession session = open(OutputShapeModels.answering(graph, "y", "x"))) {
      List<String> outputs = List.of("y", "x");
      region.resetPeak();
      float[] x = new float[1024];
      run(session, outputs, WeightArrivals.PRESENT, x);
      region.limit(region.peakBytes());
      for (int run = 1; run < 4; run++) {
        x[0] = run;
        Attempts attempts = new Attempts();
        assertArrayEquals(x, run(session, outputs, attempts, x));
        assertEquals(List.of(4096L), attempts.usedBytes);
      }
      assertEquals(1, refused);
    }
  }

  @Test
  void run_hasNoRoomBesideItsPlace_runsWithoutAndNoOtherTriesIt() throws IOException {
    ModelProto model =
        OutputShapeModels.answering(
            OutputShapeModels.taking(
                TestModels.node("Concat", List.of("x", "x"), "twice")
                    .addAttribute(TestModels.integer("axis", 0)),
                TestModels.node("ReduceMin", List.of("twice"), "least"),
                TestModels.node("Add", List.of("x", "least"), "y")),
            "y");
    try (ModelSession session = open(model)) {
      float[] x = new float[1024];
      run(session, x);
      region.limit(2 * 4096 + Attempts.BLOCK); // For the input and the output's place.
      mostRefused = 1;
      Attempts attempts = new Attempts();
      for (int run = 1; run < 4; run++) {
        x[0] = run;
        assertArrayEquals(x, run(session, List.of("y"), attempts, x));
      }
      assertEquals(List.of(8192L, 4096L, 4096L, 4096L), attempts.usedBytes);
    }
  }

  @Test
  void run_outputIsAnInput_answersIt() throws IOException {
    ModelProto model =
        OutputShapeModels.answering(
            OutputShapeModels.taking(TestModels.node("Neg", List.of("x"), "y")), "y", "x");
    try (ModelSession session = open(model)) {
      for (int round = 1; round < 5; round++) {
        assertArrayEquals(new float[] {round, 2}, run(session, "x", round, 2));
      }
    }
  }

  @Test
  void run_fails_saysWhyAndTheNextIsRight() throws IOException {
    try (ModelSession session = open(OutputShapeModels.gathering())) {
      for (int round = 0; round < 3; round++) {
        assertArrayEquals(new float[] {6, 5}, gathered(session, 1, 0));
        assertArrayEquals(new float[] {5, 5}, gathered(session, 0, 0));
        StatusException failure =
            assertThrows(StatusException.class, () -> gathered(session, 0, 2));
        assertTrue(String.valueOf(failure.getMessage()).contains("indices"), failure::toString);
      }
    }
  }

  @Test
  void run_placesDoNotFitAndItFails_saysWhyItFails() throws IOException {
    List<String> outputs = List.of("y", "x");
    try (ModelSession session = open(OutputShapeModels.gathering())) {
      region.resetPeak();
      gathered(session, outputs, WeightArrivals.PRESENT, 1, 0);
      region.limit(region.peakBytes());
      Attempts attempts = new Attempts();

      StatusException failure =
          assertThrows(StatusException.class, () -> gathered(session, outputs, attempts, 0, 2));

      assertTrue(String.valueOf(failure.getMessage()).contains("indices"), failure::toString);
      assertEquals(List.of(2 * Attempts.BLOCK), attempts.usedBytes);
    }
  }

  @Test
  void run_failsForAReasonOfItsOwn_isNotMadeAnew() throws IOException {
    try (ModelSession session = open(OutputShapeModels.gathering())) {
      for (int round = 0; round < 3; round++) {
        gathered(session, 1, 0);
        Attempts attempts = new Attempts();
        assertThrows(StatusException.class, () -> gathered(session, List.of("y"), attempts, 0, 2));
        assertEquals(List.of(3 * Attempts.BLOCK), attempts.usedBytes);
      }
    }
  }

  @Test
  void run_fails_othersHaveTheirPlacesAllTheSame() throws IOException {
    try (ModelSession session = open(OutputShapeModels.gathering())) {
      gathered(session, 1, 0);
      assertThrows(StatusException.class, () -> gathered(session, 0, 2));
      gathered(session, 1, 0);
      Attempts attempts = new Attempts();
      assertArrayEquals(new float[] {5, 5}, gathered(session, List.of("y"), attempts, 0, 0));
      assertEquals(List.of(3 * Attempts.BLOCK), attempts.usedBytes);
    }
  }

  private float[] gathered(ModelSession session, long... indices) {
    return gathered(session, List.of("y"), WeightArrivals.PRESENT, indices);
  }

  private float[] gathered(
      ModelSession session, List<String> outputs, WeightArrivals weights, long... indices) {
    MemorySegment data = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_LONG, indices);
    FloatInvocation invocation =
        new FloatInvocation(new float[] {5, 6}, Shape.of(2)) {
          @Override
          public List<String> outputs() {
            return outputs;
          }

          @Override
          public List<InputTensor> inputs() {
            return List.of(
                super.inputs().getFirst(),
                new InputTensor("i", TensorType.INT64, Shape.of(indices.length), data));
          }
        };
    session.run(invocation, region, _ -> false, weights);
    return invocation.output();
  }

  @Test
  void run_otherOutputsAreWanted_answersThose() throws IOException {
    ModelProto model =
        OutputShapeModels.answering(
            OutputShapeModels.taking(
                TestModels.node("Neg", List.of("x"), "y"),
                TestModels.node("Abs", List.of("x"), "z")),
            "y",
            "z");
    try (ModelSession session = open(model)) {
      for (int round = 0; round < 3; round++) {
        assertArrayEquals(new float[] {2}, run(session, "y", -2));
        assertArrayEquals(new float[] {-3}, run(session, "y", 3));
        assertArrayEquals(new float[] {3}, run(session, "z", 3));
        assertArrayEquals(new float[] {3}, run(session, "z", -3));
      }
    }
  }
}
