package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.AttributeProto.AttributeType;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Steps whose state lies in the device's memory for it, against the same steps on tensors of the
 * host: {@code t = x w + s}, which is s of the next step, and the largest number of each row to
 * answer. No operator has a choice of algorithms, so runs agree bit by bit.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // open() fills the fields.
class StateStepsTest {
  private static final int ROWS = 64;
  private static final int WIDTH = TestDevices.ON_GPU ? 16384 : 256;
  private static final long STATE = (long) ROWS * WIDTH * Float.BYTES;
  private static final long LANE = 16 * STATE + (64 << 20);
  private static final int STEPS = 40;

  /** What may pass the link for a step: its input, its answer, and the number that is read here. */
  private static final long SMALL = 64 << 10;

  @TempDir Path folder;
  private Device device;
  private EphemeralRegion region;
  private PersistentMemory.Account constants;
  private SessionFactory sessions;
  private AddressRange range;
  private ModelSession session;
  private final Arena arena = Arena.ofShared();

  @BeforeEach
  void open() throws Exception {
    ImportedModel model = TestImports.of(recurrent(), "recurrent", folder);
    device = TestDevices.open(8 << 20, 64 << 10);
    DeviceMemory memory = new DeviceMemory(device.persistent());
    region = device.ephemeral(LANE);
    memory.add(region);
    region.limit(LANE);
    constants = device.persistent().open("test", 256 << 20);
    sessions =
        TestDevices.IN_WORKERS
            ? TestDevices.workers(
                (SharedDevice) device, new TestWorkers(1).hangTimeout(Duration.ofSeconds(30)))
            : TestDevices.sessions(device, memory);
    range = device.reserve(Math.max(1, model.plan().weightBytes()));
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    byte[] weights = Files.readAllBytes(model.weights());
    if (weights.length > 0) {
      device.copies().copy(new BytesSource(weights), 0, range, 0, weights.length).await();
    }
    session =
        sessions.gated(
            model,
            range.address(),
            sessions.boundToLane() ? region : null,
            new MemoryTarget.Persistent(constants));
  }

  @AfterEach
  void close() {
    session.close();
    assertEquals(0, region.usedBytes());
    constants.close();
    sessions.close();
    device.close();
    arena.close();
  }

  private static ModelProto recurrent() {
    Random random = new Random(1);
    AttributeProto.Builder alongRows =
        AttributeProto.newBuilder().setName("axes").setType(AttributeType.INTS).addInts(1);
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32, -1, 1))
            .addInput(TestModels.value("s", TensorType.FP32, -1, WIDTH))
            .addInitializer(TestModels.weight("w", random, 1, WIDTH))
            .addNode(TestModels.node("Mul", List.of("x", "w"), "h"))
            .addNode(TestModels.node("Add", List.of("h", "s"), "t"))
            .addNode(TestModels.node("ReduceMax", List.of("t"), "y").addAttribute(alongRows))
            .addOutput(TestModels.value("t", TensorType.FP32, -1, WIDTH))
            .addOutput(TestModels.value("y", TensorType.FP32, -1, 1)));
  }

  /** A step, whose state goes to where it is told. */
  private final class Step implements Invocation {
    private final List<InputTensor> inputs;
    private final MemorySegment next;
    private final Optional<StateNumber> number;
    private final MemorySegment y = arena.allocate((long) ROWS * Float.BYTES, 64);

    Step(int step, MemorySegment state, MemorySegment next, Optional<StateNumber> number) {
      this.next = next;
      this.number = number;
      MemorySegment x = arena.allocate((long) ROWS * Float.BYTES, 64);
      for (int row = 0; row < ROWS; row++) {
        x.setAtIndex(ValueLayout.JAVA_FLOAT, row, 1 + (step + row) % 7);
      }
      boolean onDevice = number.isPresent();
      this.inputs =
          List.of(
              new InputTensor("x", TensorType.FP32, Shape.of(ROWS, 1), x),
              new InputTensor("s", TensorType.FP32, Shape.of(ROWS, WIDTH), state, onDevice));
    }

    Step run() {
      session.run(this, region, bytes -> false, WeightArrivals.PRESENT);
      return this;
    }

    float[] y() {
      return y.toArray(ValueLayout.JAVA_FLOAT);
    }

    @Override
    public List<InputTensor> inputs() {
      return inputs;
    }

    @Override
    public List<String> outputs() {
      return List.of("y", "t");
    }

    @Override
    public Optional<StateNumber> stateNumber() {
      return number;
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      assertEquals(name.equals("t") ? STATE : y.byteSize(), byteSize);
      return name.equals("t") ? next : y;
    }

    @Override
    public void placed() {
      // The run's end is awaited.
    }
  }

  /** Steps on the host, to compare with. */
  private List<float[]> expected() {
    MemorySegment state = arena.allocate(STATE, 64);
    MemorySegment next = arena.allocate(STATE, 64);
    List<float[]> answers = new ArrayList<>();
    for (int step = 0; step < STEPS; step++) {
      answers.add(new Step(step, state, next, Optional.empty()).run().y());
      state.copyFrom(next);
    }
    answers.add(state.toArray(ValueLayout.JAVA_FLOAT));
    return answers;
  }

  /** How long such a step takes in milliseconds. */
  private double byTheHost() {
    MemorySegment state = arena.allocate(STATE, 64);
    MemorySegment next = arena.allocate(STATE, 64);
    long begin = System.nanoTime();
    for (int step = 0; step < STEPS; step++) {
      Step _ = new Step(step, state, next, Optional.empty()).run();
    }
    return (System.nanoTime() - begin) / 1e6 / STEPS;
  }

  /** Two copies of a state and its number, as a sequence has them. */
  private final class Kept implements AutoCloseable {
    private final State[] copies = {device.states().take(STATE), device.states().take(STATE)};
    private final State word = device.states().take(Integer.BYTES);
    private int steps;

    float[] step() {
      Optional<StateNumber> number =
          device.states().areOnDevice()
              ? Optional.of(new StateNumber(word.memory(), steps + 1))
              : Optional.empty();
      MemorySegment state = copies[steps % 2].memory();
      MemorySegment next = copies[(steps + 1) % 2].memory();
      return new Step(steps, state, next, number).run().y();
    }

    void advance() {
      steps++;
    }

    int number() {
      if (!device.states().areOnDevice()) {
        return steps;
      }
      MemorySegment read = arena.allocate(Integer.BYTES, Integer.BYTES);
      word.read(read);
      return read.get(ValueLayout.JAVA_INT, 0);
    }

    float[] read() {
      MemorySegment read = arena.allocate(STATE, 64);
      copies[steps % 2].read(read);
      return read.toArray(ValueLayout.JAVA_FLOAT);
    }

    @Override
    public void close() {
      word.close();
      copies[0].close();
      copies[1].close();
    }
  }

  @Test
  void steps_areThoseOfTheHostAndNumbered() {
    List<float[]> expected = expected();
    try (Kept kept = new Kept()) {
      for (int step = 0; step < STEPS; step++) {
        assertEquals(step, kept.number());
        assertArrayEquals(expected.get(step), kept.step(), "step " + step);
        kept.advance();
      }
      assertEquals(STEPS, kept.number());
      assertArrayEquals(expected.getLast(), kept.read());
    }
  }

  /** Whose answer was lost, say: the copy that it begins with is as it was. */
  @Test
  void step_madeAgain_isTheSame() {
    List<float[]> expected = expected();
    try (Kept kept = new Kept()) {
      for (int step = 0; step < STEPS; step++) {
        for (int attempt = 0; attempt < 2; attempt++) {
          assertArrayEquals(expected.get(step), kept.step(), "step " + step);
        }
        kept.advance();
        assertEquals(step + 1, kept.number());
      }
      assertArrayEquals(expected.getLast(), kept.read());
    }
  }

  @Test
  void steps_onAGpu_noByteOfStatePassesTheLink() {
    assumeTrue(device instanceof CudaDevice, "there is no link");
    CudaDevice gpu = (CudaDevice) device;
    List<float[]> expected = expected();
    try (Kept kept = new Kept()) {
      for (int step = 0; step < STEPS / 2; step++) { // Captured within these.
        assertArrayEquals(expected.get(step), kept.step(), "step " + step);
        kept.advance();
      }
      long before = gpu.context().linkBytes();
      if (region instanceof SharedLane lane) {
        lane.host().resetPeak();
      }
      long begin = System.nanoTime();
      for (int step = STEPS / 2; step < STEPS; step++) {
        assertArrayEquals(expected.get(step), kept.step(), "step " + step);
        kept.advance();
      }
      double millis = (System.nanoTime() - begin) / 1e6 / (STEPS / 2);
      long carried = gpu.context().linkBytes() - before;
      long peak = region instanceof SharedLane lane ? lane.host().peakBytes() : 0;
      System.out.printf(
          "a step with a state of %d bytes: %.3f ms, %d bytes pass the link; by the host %.3f ms%n",
          STATE, millis, carried / (STEPS / 2), byTheHost());
      assertTrue(carried < STEPS / 2 * SMALL, carried + " bytes");
      assertTrue(peak < SMALL, peak + " bytes"); // Workers have no other memory of the server's.
      assertArrayEquals(expected.getLast(), kept.read());
    }
  }

  @Test
  void steps_workersAreKilled_theNextOneFindsTheStateAsItWas() {
    assumeTrue(TestDevices.IN_WORKERS, "there are no workers");
    ProcessSessionFactory workers = (ProcessSessionFactory) sessions;
    List<float[]> expected = expected();
    try (Kept kept = new Kept()) {
      for (int step = 0; step < STEPS; step++) {
        assertArrayEquals(expected.get(step), kept.step(), "step " + step);
        if (step % 15 == 7) {
          ActiveWorker.kill(workers);
          assertEquals(step + (device.states().areOnDevice() ? 1 : 0), kept.number());
          assertArrayEquals(expected.get(step), kept.step(), "step " + step + " made again");
        }
        kept.advance();
      }
      assertArrayEquals(expected.getLast(), kept.read());
    }
  }
}
