package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.execution.GpuSessions.Loaded;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.runtime.RelativeError;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Sessions of a GPU; the second request of a shape has it captured. */
@Tag("gpu")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@SuppressWarnings("NullAway.Init") // allOfTheLane() fills the field.
class CudaSessionTest {
  private static final MemoryTarget.Growth NO_GROWTH = bytes -> false;
  private static final int NONE = -1;

  @TempDir Path folder;
  private GpuSessions gpu;

  @AfterAll
  void close() {
    if (gpu != null) {
      gpu.close();
    }
  }

  /** Opened once: loading CUDA's libraries takes seconds. */
  @BeforeEach
  void allOfTheLane() {
    if (gpu == null) {
      gpu = new GpuSessions(GpuTests.driverOrSkip(), new CaptureSettings(2, 2));
    }
    gpu.region.limit(64 * GpuSessions.MIB);
  }

  @AfterEach
  void nothingIsLeft() {
    if (gpu != null) {
      assertEquals(0, gpu.region.usedBytes());
      assertEquals(0, gpu.constants.usedBytes());
    }
  }

  static Stream<Arguments> models() {
    return Stream.of(
        Arguments.of("chain", TestModels.chain(5, TestModels.WIDTH, 1)),
        Arguments.of("branches", TestModels.branches(2)),
        Arguments.of("quantized", TestModels.quantized(4, 3)),
        Arguments.of("halfStored", TestModels.halfStored(4, 4)),
        Arguments.of("middleOutput", TestModels.middleOutput(5)));
  }

  private static float[] random(int rows, long seed) {
    Random random = new Random(seed);
    float[] x = new float[rows * TestModels.WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  private float[] run(CudaSession session, float[] x, WeightArrivals weights) {
    FloatInvocation invocation =
        new FloatInvocation(x, Shape.of(x.length / TestModels.WIDTH, TestModels.WIDTH));
    session.run(invocation, gpu.region, NO_GROWTH, weights);
    assertEquals(0, gpu.region.usedBytes());
    return invocation.output();
  }

  private float[] run(CudaSession session, float[] x) {
    return run(session, x, WeightArrivals.PRESENT);
  }

  private static void assertClose(float[] expected, float[] actual) {
    assertEquals(expected.length, actual.length);
    double error =
        RelativeError.of(
            TensorType.FP32, MemorySegment.ofArray(expected), MemorySegment.ofArray(actual));
    assertTrue(error <= AnswerComparison.TOLERANCE, "relative error " + error);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("models")
  void run_withWeightsThatArriveAtTheirGates_isRightUncapturedAndCaptured(
      String name, ModelProto proto) throws IOException {
    try (Loaded loaded = gpu.load(proto, name, folder)) {
      CudaSession session = loaded.session();
      List<Integer> everySegment =
          IntStream.range(0, loaded.model().plan().segments().size()).boxed().toList();
      float[] x = random(3, 1);
      LateWeights late = loaded.late(NONE);
      float[] uncaptured = run(session, x, late);
      assertEquals(everySegment, late.asked());
      assertTrue(session.captures().isEmpty());

      float[] present = run(session, x);
      assertClose(present, uncaptured);
      assertTrue(
          session.notes().getFirst().startsWith("captured for x "), session.notes()::toString);
      assertTrue(session.notes().stream().noneMatch(note -> note.startsWith("not captured")));
      assertEquals(everySegment.size(), session.captures().getFirst().segmentTimes().size());

      late = loaded.late(NONE);
      float[] captured = run(session, x, late);
      assertEquals(everySegment, late.asked());
      assertTrue(late.stalledNanos() >= 0);
      assertClose(present, captured);
      float[] other = random(3, 2);
      float[] again = run(session, other);
      session.shrink();
      assertClose(run(session, other), again);
    }
  }

  @Test
  void captureAgain_afterAShrink_capturesAndAnswersAsBefore() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.chain(5, TestModels.WIDTH, 1), "again", folder)) {
      CudaSession session = loaded.session();
      float[] x = random(3, 1);
      float[] uncaptured = run(session, x);
      float[] _ = run(session, x);
      assertEquals(1, session.captures().size());
      float[] captured = run(session, x);
      session.shrink();
      for (int i = 0; i < 4; i++) {
        assertArrayEquals(uncaptured, run(session, x));
        assertTrue(session.captures().isEmpty());
      }
      session.captureAgain();
      for (int i = 0; i < 2; i++) {
        assertArrayEquals(uncaptured, run(session, x));
      }
      assertEquals(1, session.captures().size());
      assertArrayEquals(captured, run(session, x));
    }
  }

  @Test
  void run_nowAndThen_tellsWhatEachSegmentComputes() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.chain(5, TestModels.WIDTH, 1), "timed", folder)) {
      Told weights = new Told();
      for (int uncaptured = 0; uncaptured < 2; uncaptured++) {
        run(loaded.session(), random(3, 1), weights);
      }
      assertEquals(2, weights.told.size(), "of the second run, and of its capture");
      for (int captured = 0; captured < 60; captured++) {
        run(loaded.session(), random(3, 1), weights);
      }
      assertEquals(4, weights.told.size());
      for (long[] nanos : weights.told) {
        assertEquals(loaded.model().plan().segments().size(), nanos.length);
        assertTrue(Arrays.stream(nanos).allMatch(time -> time >= 0), Arrays.toString(nanos));
        assertTrue(Arrays.stream(nanos).sum() > 0, Arrays.toString(nanos));
      }
    }
  }

  @Test
  void run_thatGivesWay_asksBeforeItsInputAndEachSegment() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.chain(5, TestModels.WIDTH, 1), "stopped", folder)) {
      int segments = loaded.model().plan().segments().size();
      float[] x = random(3, 1);
      for (int run = 0; run < 4; run++) {
        Told weights = new Told();
        weights.segmentsAhead = 1 + run % 2;
        float[] stopped = run(loaded.session(), x, weights);
        assertEquals(0, weights.gates.removeFirst());
        assertEquals(IntStream.range(0, segments).boxed().toList(), weights.gates);
        assertClose(run(loaded.session(), x), stopped);
      }
    }
  }

  @Test
  void run_endedWhileItsInputsComeIn_computesNothingAndTheNextRunIsRight() throws IOException {
    int mebibytes = 3;
    int rows = (mebibytes << 20) / (TestModels.WIDTH * Float.BYTES);
    try (Loaded loaded = gpu.load(TestModels.chain(5, TestModels.WIDTH, 1), "ended", folder)) {
      float[] x = random(rows, 1);
      float[] expected = run(loaded.session(), x);
      for (int run = 0; run < 4; run++) {
        Told weights = new Told();
        weights.segmentsAhead = 1;
        weights.endsAfter = 1 + run % mebibytes;
        assertEquals(
            Status.CANCELLED,
            assertThrows(StatusException.class, () -> run(loaded.session(), x, weights)).status());
        assertEquals(weights.endsAfter, weights.gates.size());
        assertEquals(0, weights.segments);
        assertClose(expected, run(loaded.session(), x));
      }
    }
  }

  /** Weights that are there, and remember what they are told and asked. */
  private static final class Told implements WeightArrivals {
    private final List<long[]> told = new ArrayList<>();
    private final List<Integer> gates = new ArrayList<>();
    private int segmentsAhead = ALL;
    private int endsAfter = Integer.MAX_VALUE;
    private int segments;

    @Override
    public int segmentsAhead() {
      return segmentsAhead;
    }

    @Override
    public void giveWay(int segment) {
      gates.add(segment);
      if (gates.size() == endsAfter) {
        throw new StatusException(Status.CANCELLED, "the run is to end");
      }
    }

    @Override
    public void await(int segment) {}

    @Override
    public List<DeviceEvent> before(int segment) {
      segments++;
      return List.of();
    }

    @Override
    public void stalled(long nanos) {}

    @Override
    public void computed(long[] segmentNanos) {
      told.add(segmentNanos);
    }
  }

  @Test
  void run_aChain_isWhatItsFormulaSays() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.chain(3, TestModels.WIDTH, 7), "chain", folder)) {
      float[] x = random(2, 3);
      float[] expected = chain(x, loaded.weights().bytes(), 3);
      for (int request = 0; request < 4; request++) {
        assertClose(expected, run(loaded.session(), x));
      }
      assertEquals(1, loaded.session().captures().size());
    }
  }

  private static float[] chain(float[] x, byte[] weights, int layers) {
    int width = TestModels.WIDTH;
    float[] w =
        MemorySegment.ofArray(weights).toArray(java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED);
    float[] last = x;
    for (int layer = 0; layer < layers; layer++) {
      float[] next = new float[x.length];
      for (int i = 0; i < next.length; i++) {
        double sum = 0;
        for (int k = 0; k < width; k++) {
          sum += last[i / width * width + k] * w[(layer * width + k) * width + i % width];
        }
        next[i] = (float) Math.tanh(sum);
      }
      last = next;
    }
    return last;
  }

  @Test
  void run_twoModelsTakeTurnsInALane_eachAnswersAsAtFirst() throws IOException {
    try (Loaded one = gpu.load(TestModels.branches(1), "one", folder);
        Loaded two = gpu.load(TestModels.chain(6, TestModels.WIDTH, 2), "two", folder)) {
      float[] x = random(4, 4);
      for (int request = 0; request < 2; request++) {
        run(one.session(), x);
        run(two.session(), x);
      }
      float[] first = run(one.session(), x);
      float[] second = run(two.session(), x);
      for (int turn = 0; turn < 100; turn++) {
        assertArrayEquals(first, run(one.session(), x), "turn " + turn);
        assertArrayEquals(second, run(two.session(), x), "turn " + turn);
      }
    }
  }

  @Test
  void run_changingShapes_areCapturedEachAndTheOldestMakesRoom() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.branches(3), "branches", folder)) {
      CudaSession session = loaded.session();
      for (int rows = 1; rows <= 3; rows++) {
        float[] x = random(rows, rows);
        float[] expected = run(session, x);
        assertClose(expected, run(session, x));
        assertClose(expected, run(session, x));
      }
      assertEquals(
          List.of(2L, 3L),
          session.captures().stream()
              .map(c -> c.shapes().inputs().getFirst().shape().dimension(0))
              .toList());
      assertClose(run(session, random(1, 1)), run(session, random(1, 1)));
    }
  }

  @Test
  void run_shapesThatDependOnData_isRefusedToCaptureAndAnswersRight() throws IOException {
    ModelProto proto =
        TestModels.model(
            GraphProto.newBuilder()
                .addInput(TestModels.batch("x", TestModels.WIDTH))
                .addNode(TestModels.node("Relu", List.of("x"), "positive"))
                .addNode(TestModels.node("NonZero", List.of("positive"), "indices"))
                .addNode(TestModels.node("Cast", List.of("indices"), "y").addAttribute(toFloat()))
                .addOutput(TestModels.value("y", TensorType.FP32, 2, -1)));
    try (Loaded loaded = gpu.load(proto, "nonzero", folder)) {
      for (int request = 0; request < 5; request++) {
        float[] x = random(2, request);
        float[] y = run(loaded.session(), x);
        int positive = (int) IntStream.range(0, x.length).filter(i -> x[i] > 0).count();
        assertEquals(2 * positive, y.length);
      }
      assertTrue(loaded.session().captures().isEmpty());
      List<String> notes = loaded.session().notes();
      assertEquals(1, notes.size(), notes::toString);
      assertTrue(notes.getFirst().startsWith("not captured: "), notes::toString);
    }
  }

  private static AttributeProto toFloat() {
    return AttributeProto.newBuilder()
        .setName("to")
        .setType(AttributeProto.AttributeType.INT)
        .setI(TensorType.FP32.onnx())
        .build();
  }

  @Test
  void run_laneIsTooSmall_saysWhatWasRefusedAndALaterRunIsRight() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.branches(1), "branches", folder)) {
      CudaSession session = loaded.session();
      float[] x = random(64, 1);
      gpu.region.resetPeak();
      float[] expected = run(session, x);
      assertRefusedBelow(gpu.region.peakBytes(), session, x);
      run(session, x);
      assertEquals(1, session.captures().size());
      assertRefusedBelow(session.captures().getFirst().ephemeralBytes(), session, x);
      assertClose(expected, run(session, x));
    }
  }

  private void assertRefusedBelow(long neededBytes, CudaSession session, float[] x) {
    for (long limit = 0; limit < neededBytes; limit += 8 * EphemeralRegion.ALIGNMENT) {
      gpu.region.limit(limit);
      OutOfDeviceMemoryException error =
          assertThrows(OutOfDeviceMemoryException.class, () -> run(session, x), "limit " + limit);
      assertTrue(error.refusedBytes() > 0);
      assertEquals(0, gpu.region.usedBytes(), "limit " + limit);
    }
    gpu.region.limit(64 * GpuSessions.MIB);
  }

  @Test
  void run_captureDoesNotFitTheLane_staysUncapturedAndLaterIsCaptured() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.branches(1), "branches", folder)) {
      CudaSession session = loaded.session();
      float[] x = random(8, 1);
      float[] expected = run(session, x);
      gpu.constants.limit(gpu.constants.usedBytes());
      for (int request = 0; request < 4; request++) {
        assertClose(expected, run(session, x));
      }
      gpu.constants.limit(256 * GpuSessions.MIB);
      for (int request = 0; request < CapturePolicy.POSTPONED_REQUESTS + 3; request++) {
        assertClose(expected, run(session, x));
      }
      assertEquals(1, session.captures().size());
    }
  }

  @Test
  void run_laneGrows_answersTheSame() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.branches(1), "branches", folder)) {
      float[] x = random(64, 1);
      float[] expected = run(loaded.session(), x);
      for (int request = 0; request < 3; request++) {
        gpu.region.limit(0);
        FloatInvocation invocation =
            new FloatInvocation(x, Shape.of(x.length / TestModels.WIDTH, TestModels.WIDTH));
        loaded
            .session()
            .run(
                invocation,
                gpu.region,
                bytes -> {
                  gpu.region.limit(gpu.region.limitBytes() + bytes);
                  return true;
                },
                WeightArrivals.PRESENT);
        assertClose(expected, invocation.output());
      }
    }
  }

  @Test
  void run_weightsFail_throwsTheReasonAndTheNextRunIsRight() throws IOException {
    try (Loaded loaded = gpu.load(TestModels.branches(1), "branches", folder)) {
      CudaSession session = loaded.session();
      float[] x = random(2, 1);
      float[] expected = run(session, x);
      assertEachFailureIsTold(loaded, x, expected);
      run(session, x);
      assertEquals(1, session.captures().size());
      assertEachFailureIsTold(loaded, x, run(session, x));
    }
  }

  private void assertEachFailureIsTold(Loaded loaded, float[] x, float[] expected) {
    for (int failing = 0; failing < loaded.model().plan().segments().size(); failing++) {
      LateWeights late = loaded.late(failing);
      StatusException error =
          assertThrows(StatusException.class, () -> run(loaded.session(), x, late));
      assertEquals("no weights", error.getMessage());
      assertEquals(Status.UNAVAILABLE, error.status());
      assertEquals(0, gpu.region.usedBytes());
      loaded.restore();
    }
    assertClose(expected, run(loaded.session(), x));
  }

  @Test
  void run_inAnotherLane_isAnError() throws IOException {
    EphemeralRegion other = gpu.device.ephemeral(GpuSessions.MIB);
    try (Loaded loaded = gpu.load(TestModels.branches(1), "branches", folder)) {
      FloatInvocation invocation = new FloatInvocation(random(1, 1), Shape.of(1, TestModels.WIDTH));
      assertThrows(
          IllegalArgumentException.class,
          () -> loaded.session().run(invocation, other, NO_GROWTH, WeightArrivals.PRESENT));
    } finally {
      other.close();
    }
  }
}
