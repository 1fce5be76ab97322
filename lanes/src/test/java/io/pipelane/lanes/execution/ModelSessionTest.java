package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.importing.ImportSettings;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.runtime.GateListener;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.CutSettings;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ModelSessionTest extends CpuSessionFixture {
  private static final MemoryTarget.Growth NO_GROWTH = bytes -> false;

  static Stream<Arguments> models() {
    return Stream.of(
        Arguments.of("chain", TestModels.chain(5, TestModels.WIDTH, 1)),
        Arguments.of("branches", TestModels.branches(2)),
        Arguments.of("quantized", TestModels.quantized(4, 3)),
        Arguments.of("halfStored", TestModels.halfStored(4, 4)),
        Arguments.of("embedding", TestModels.embedding(4, 5)));
  }

  /** A range with the model's weights in it. */
  private AddressRange filled(ImportedModel model) throws IOException {
    AddressRange range = device.reserve(model.plan().weightBytes(), model.plan().inPlaceBytes());
    if (!model.plan().inPlace().isEmpty()) {
      show(model, range);
    }
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    range.settled(range.slots()).await();
    byte[] weights = Files.readAllBytes(model.weights());
    range.memory().asSlice(0, weights.length).copyFrom(MemorySegment.ofArray(weights));
    return range;
  }

  /** Nothing but the window knows of the file when this returns. */
  private static void show(ImportedModel model, AddressRange range) throws IOException {
    try (HostMemory.Loaded file = HostMemory.PAGE_CACHE.load(model.inPlaceWeights())) {
      range.show(file);
    }
  }

  private ModelSession gated(ImportedModel model, AddressRange range) {
    return sessions.gated(model, range.address(), null, new MemoryTarget.Persistent(constants));
  }

  private float[] run(ModelSession session, float[] x) {
    return run(session, x, NO_GROWTH, gate -> {});
  }

  private float[] run(
      ModelSession session, float[] x, MemoryTarget.Growth growth, GateListener gates) {
    FloatInvocation invocation =
        new FloatInvocation(x, Shape.of(x.length / TestModels.WIDTH, TestModels.WIDTH));
    session.run(invocation, region, growth, new Listened(gates));
    return invocation.output();
  }

  private static float[] random(int rows, long seed) {
    Random random = new Random(seed);
    float[] x = new float[rows * TestModels.WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("models")
  void run_gatedWithWeightsThatArriveAtTheirGates_equalsAllThere(String name, ModelProto proto)
      throws IOException {
    ImportedModel model = TestImports.of(proto, name, folder);
    AddressRange range = filled(model);
    byte[] weights = Files.readAllBytes(model.weights());
    try (ModelSession gated = gated(model, range)) {
      for (int rows = 1; rows <= 3; rows++) {
        float[] x = random(rows, rows);
        float[] expected = run(gated, x);
        // Garbage behind the first segment, until its gate is reached.
        range.memory().fill((byte) 0x7f);
        arrive(model, weights, range, 0);
        float[] actual =
            run(gated, x, NO_GROWTH, segment -> arrive(model, weights, range, segment));
        assertArrayEquals(expected, actual, 1e-5f);
        assertEquals(0, region.usedBytes());
      }
    }
  }

  @Test
  void run_windowThatShowsAnotherTable_answersAsThatVariant() throws IOException {
    ImportedModel one = TestImports.of(TestModels.embedding(3, 1), "one", folder);
    ImportedModel other = TestImports.of(TestModels.embedding(3, 2), "other", folder);
    AddressRange range = filled(one);
    AddressRange otherRange = filled(other);
    try (ModelSession session = gated(one, range);
        ModelSession expecting = gated(other, otherRange)) {
      float[] x = random(2, 1);
      float[] first = run(session, x);
      byte[] weights = Files.readAllBytes(other.weights());
      range.memory().asSlice(0, weights.length).copyFrom(MemorySegment.ofArray(weights));
      float[] mixed = run(session, x);
      show(other, range);
      assertArrayEquals(run(expecting, x), run(session, x));
      assertFalse(Arrays.equals(mixed, run(session, x)), "the tables make a difference");
      assertFalse(Arrays.equals(first, run(session, x)));
    }
  }

  @Test
  void run_repackedWeightsThatArriveAtTheirGates_equalsUnpacked() throws IOException {
    ModelProto proto = TestModels.branches(3);
    ImportedModel plain = TestImports.of(proto, "plain", folder);
    ImportedModel model = imported(proto);
    assertEquals(6, model.plan().repacked().size(), model.plan().notes().toString());
    AddressRange plainRange = filled(plain);
    AddressRange range = filled(model);
    byte[] weights = Files.readAllBytes(model.weights());
    try (ModelSession expecting = gated(plain, plainRange);
        ModelSession session = gated(model, range)) {
      assertEquals(
          -1,
          range.memory().asSlice(0, weights.length).mismatch(MemorySegment.ofArray(weights)),
          "building a session leaves the weights that are there alone");
      float[] x = random(2, 1);
      float[] expected = run(expecting, x);
      try (ModelSession second = gated(model, range)) {
        for (ModelSession each : List.of(session, second, session)) {
          range.memory().fill((byte) 0x7f);
          arrive(model, weights, range, 0);
          float[] actual =
              run(each, x, NO_GROWTH, segment -> arrive(model, weights, range, segment));
          assertArrayEquals(expected, actual, 1e-5f);
        }
      }
      assertArrayEquals(expected, run(session, x), 1e-5f, "after another session's end");
    }
  }

  @Test
  void open_repackedOtherwiseThanAtImport_isRefused() throws IOException {
    ImportedModel model = imported(TestModels.branches(3));
    ImportedModel other =
        new ImportedModel(
            model.version(), otherwise(model.plan()), model.gatedModel(), model.weights());
    AddressRange range = device.reserve(model.plan().weightBytes());
    StatusException error = assertThrows(StatusException.class, () -> gated(other, range).close());
    assertEquals(Status.INTERNAL, error.status());
    assertEquals(0, device.persistent().usedBytes());
  }

  /** A plan whose first repacked weight has another size. */
  private static Plan otherwise(Plan plan) {
    List<RepackedWeight> repacked = new ArrayList<>(plan.repacked());
    RepackedWeight first = repacked.getFirst();
    repacked.set(
        0,
        new RepackedWeight(
            first.name(),
            first.type(),
            first.shape(),
            first.byteSize(),
            first.allocation(),
            first.offset(),
            first.packedBytes() - 1,
            first.segment()));
    return ChangedPlans.withRepacked(plan, repacked);
  }

  /** Imports as a server does, but cut as finely as can be. */
  private ImportedModel imported(ModelProto proto) throws IOException {
    ImportSettings settings =
        new ImportSettings(
            LIBRARY,
            sessions.runtimeVersion(),
            SessionSettings.Optimization.ALL,
            new CutSettings(1, 64),
            Duration.ofMinutes(1),
            ByteSize.ofMebibytes(16 << 10),
            ByteSize.ofMebibytes(64));
    Path file = Files.createDirectories(folder.resolve("m/1")).resolve("model.onnx");
    Files.write(file, proto.toByteArray());
    return Importer.open(folder.resolve("cache"), settings)
        .importModel(file, new ModelVersion("m", 1));
  }

  private static void arrive(ImportedModel model, byte[] weights, AddressRange range, int segment) {
    var part = model.plan().segments().get(segment);
    MemorySegment.copy(
        MemorySegment.ofArray(weights),
        part.offset(),
        range.memory(),
        part.offset(),
        part.byteSize());
  }

  @Test
  void run_regionIsTooSmall_saysWhatWasRefusedAndALaterRunIsRight() throws IOException {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession session = gated(model, filled(model))) {
      float[] x = random(64, 1);
      float[] expected = run(session, x);
      long needed = region.peakBytes();
      region.resetPeak();
      for (long limit = 0; limit < needed; limit += 1024) {
        region.limit(limit);
        OutOfDeviceMemoryException error =
            assertThrows(OutOfDeviceMemoryException.class, () -> run(session, x));
        assertTrue(error.refusedBytes() > 0 && error.refusedBytes() <= 8L * 4 * x.length);
        assertEquals(0, region.usedBytes(), "limit " + limit);
      }
      region.limit(MIB);
      assertArrayEquals(expected, run(session, x));
    }
  }

  @Test
  void run_regionGrows_answersTheSame() throws IOException {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession session = gated(model, filled(model))) {
      float[] x = random(64, 1);
      float[] expected = run(session, x);
      region.limit(0);
      float[] grown =
          run(
              session,
              x,
              bytes -> {
                region.limit(region.limitBytes() + bytes);
                return true;
              },
              gate -> {});
      assertArrayEquals(expected, grown);
    }
  }

  @Test
  void open_constantsDoNotFit_isOutOfMemoryAndLeavesNothing() throws IOException {
    // A bias of less than a kilobyte stays in the session.
    ImportedModel model = TestImports.of(TestModels.quantized(3, 1), "quantized", folder);
    AddressRange range = filled(model);
    constants.limit(0);
    assertThrows(OutOfDeviceMemoryException.class, () -> gated(model, range).close());
    assertEquals(0, device.persistent().usedBytes());
  }

  @Test
  void run_aGateFails_throwsItsReasonAndTheNextRunIsRight() throws IOException {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession session = gated(model, filled(model))) {
      float[] x = random(2, 1);
      float[] expected = run(session, x);
      StatusException reason = new StatusException(Status.UNAVAILABLE, "no weights");
      for (int failing = 1; failing < model.plan().segments().size(); failing++) {
        int gate = failing;
        StatusException error =
            assertThrows(
                StatusException.class,
                () ->
                    run(
                        session,
                        x,
                        NO_GROWTH,
                        segment -> {
                          if (segment == gate) {
                            throw reason;
                          }
                        }));
        assertEquals(reason, error);
        assertEquals(0, region.usedBytes());
        assertArrayEquals(expected, run(session, x));
      }
    }
  }

  @Test
  void run_onTheProcessor_tellsWhatEachSegmentComputesWithoutWaiting() throws Exception {
    ImportedModel model = TestImports.of(TestModels.chain(5, TestModels.WIDTH, 1), "timed", folder);
    FloatInvocation invocation = new FloatInvocation(random(2, 1), Shape.of(2, TestModels.WIDTH));
    try (ModelSession session = gated(model, filled(model))) {
      TimedWaits weights = new TimedWaits();
      long begin = System.nanoTime();
      session.run(invocation, region, NO_GROWTH, weights);
      long whole = System.nanoTime() - begin;
      assertEquals(model.plan().segments().size(), weights.computed.length);
      assertTrue(Arrays.stream(weights.computed).allMatch(nanos -> nanos > 0));
      long computed = Arrays.stream(weights.computed).sum();
      assertTrue(weights.waitedNanos > 0);
      assertTrue(
          computed + weights.waitedNanos <= whole,
          () ->
              "%d computed, %d waited, %d in all".formatted(computed, weights.waitedNanos, whole));
    }
  }

  /** Weights that take a moment to arrive. */
  private static final class TimedWaits implements WeightArrivals {
    private long waitedNanos;
    private long[] computed = {};

    @Override
    public void await(int segment) {
      long begin = System.nanoTime();
      LockSupport.parkNanos(100_000);
      waitedNanos += System.nanoTime() - begin;
    }

    @Override
    public List<DeviceEvent> before(int segment) {
      throw new AssertionError("the processor does not wait by itself");
    }

    @Override
    public void stalled(long nanos) {}

    @Override
    public void computed(long[] segmentNanos) {
      computed = segmentNanos;
    }
  }

  /** Weights that arrive when a listener says so. */
  private record Listened(GateListener listener) implements WeightArrivals {
    @Override
    public void await(int segment) {
      listener.reached(segment);
    }

    @Override
    public List<DeviceEvent> before(int segment) {
      throw new AssertionError("the processor does not wait by itself");
    }

    @Override
    public void stalled(long nanos) {}
  }
}
