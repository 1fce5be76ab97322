package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.HeldSource;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the whole switcher promises on any device, here one with room for two models. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class SwitcherContract {
  private static final int WIDTH = TestDevices.ON_GPU ? 512 : 64;
  private static final int LAYERS = 8;
  static final int LANES = 2;
  static final long PAGE = 16 << 10;
  static final long WEIGHTS = 2L * LAYERS * WIDTH * WIDTH * Float.BYTES;

  /** On a GPU a session's share is what the driver's account rose by, in its own steps. */
  private static final long DRIVERS_NOISE_BYTES = TestDevices.ON_GPU ? 16 << 20 : 0;

  private static final long WORKING = TestDevices.ON_GPU ? 4L << 30 : 64 << 20;

  @TempDir Path folder;
  private final Device device;
  private final Switcher switcher;
  private final Queue<WeightSource> nextSources = new ConcurrentLinkedQueue<>();

  /** The switcher on a device, with what builds sessions there. */
  SwitcherContract(Device device, BiFunction<Device, DeviceMemory, SessionFactory> sessions) {
    this.device = device;
    SwitcherSettings settings =
        new SwitcherSettings(WEIGHTS, WORKING, LANES, 100, 1 << 20, new EqualBytesGrouping(8, 1));
    DeviceMemory memory = new DeviceMemory(device.persistent());
    switcher =
        new Switcher(device, memory, sessions.apply(device, memory), settings, this::weights);
  }

  private WeightSource weights(ImportedModel model) {
    @Nullable WeightSource source = nextSources.poll();
    return source != null ? source : ReadWeights.of(model);
  }

  @AfterEach
  void everythingIsGivenBack() {
    switcher.verify();
    while (!switcher.memory().weights().isQuiet()) {
      Thread.onSpinWait(); // A run may go on after its answer: a GPU's is captured.
    }
    switcher.close();
    assertEquals(0, device.persistent().usedBytes());
    assertEquals(device.pages().total(), device.pages().free());
    device.close();
  }

  private ImportedModel chain(String name, long seed) throws IOException {
    return TestImports.of(TestModels.chain(LAYERS, WIDTH, seed), name, folder);
  }

  private Call submit(ImportedModel model, float... x) {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), x), call);
    return call;
  }

  private float[] infer(ImportedModel model, float... x) {
    return submit(model, x).await();
  }

  private static float[] input(long seed) {
    Random random = new Random(seed);
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  @Test
  void moreModelsThanMemory_everyAnswerIsBitwiseTheSameAcrossEvictions() throws Exception {
    List<ImportedModel> models = new ArrayList<>();
    List<float[]> expected = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      models.add(chain("m" + i, i));
      switcher.register(models.get(i));
      expected.add(infer(models.get(i), input(i)));
    }
    long seed = System.nanoTime();
    List<Future<?>> clients = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      for (int c = 0; c < 4; c++) {
        Random random = new Random(seed + c);
        clients.add(
            threads.submit(
                () -> {
                  for (int k = 0; k < 300; k++) {
                    int i = random.nextInt(models.size());
                    assertArrayEquals(
                        expected.get(i), infer(models.get(i), input(i)), "seed " + seed);
                    switcher.verify();
                  }
                }));
      }
      for (Future<?> client : clients) {
        client.get();
      }
    }
    assertTrue(switcher.transfers().pagesTakenBack() > 0);
    assertEquals(0, switcher.transfers().failedLoads());
  }

  @Test
  void registerAndDeregister_whileRequestsRun_answersAreRightOrNotFound() throws Exception {
    ImportedModel steady = chain("steady", 1);
    ImportedModel comes = chain("comes", 2);
    switcher.register(steady);
    switcher.register(comes);
    float[] expected = infer(steady, input(1));
    float[] other = infer(comes, input(2));
    long constants = switcher.memory().constantBytes();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<?> client =
          threads.submit(
              () -> {
                for (int i = 0; i < 300; i++) {
                  assertArrayEquals(expected, infer(steady, input(1)));
                  inferOrNotFound(comes, other);
                }
              });
      while (!client.isDone()) {
        switcher.deregister(comes.version());
        switcher.verify();
        switcher.register(comes);
        switcher.verify();
      }
      client.get();
    }
    long change = switcher.memory().constantBytes() - constants;
    assertTrue(Math.abs(change) <= DRIVERS_NOISE_BYTES, change + " bytes");
    switcher.deregister(comes.version());
    switcher.deregister(steady.version());
    assertEquals(0, switcher.memory().constantBytes());
    assertEquals(0, switcher.memory().weights().lentBytes());
  }

  @Test
  void deregister_versionThatIsHeld_answersItsHoldersUntilTheyLetGo() throws Exception {
    ImportedModel model = chain("m", 1);
    switcher.register(model);
    float[] expected = infer(model, input(1));
    InferenceService.Hold one = switcher.hold(model.version());
    InferenceService.Hold other = switcher.hold(model.version());
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<?> gone = threads.submit(() -> switcher.deregister(model.version()));
      while (isHeld(model.version())) {
        Thread.onSpinWait();
      }
      assertEquals(Status.NOT_FOUND, refused(() -> infer(model, input(1))));
      one.close();
      one.close(); // Counts once: the other one is still answered.
      for (int i = 0; i < 100; i++) {
        Call call = new Call();
        other.submit(Call.request(model.version(), input(1)), call);
        assertArrayEquals(expected, call.await());
      }
      assertTrue(!gone.isDone());
      other.close();
      gone.get();
    }
    switcher.verify();
    assertEquals(List.of(), switcher.memory().weights().entries());
    assertEquals(0, switcher.memory().constantBytes());
    Call late = new Call();
    assertEquals(
        Status.NOT_FOUND,
        refused(() -> other.submit(Call.request(model.version(), input(1)), late)));
    assertEquals(0, late.answers());
    switcher.register(model);
    assertArrayEquals(expected, infer(model, input(1)));
  }

  private boolean isHeld(ModelVersion version) {
    try {
      switcher.hold(version).close();
      return true;
    } catch (StatusException e) {
      return false;
    }
  }

  /** A request may be refused at once; one that is taken is answered. */
  private void inferOrNotFound(ImportedModel model, float[] expected) {
    Call call;
    try {
      call = submit(model, input(2));
    } catch (StatusException e) {
      assertEquals(Status.NOT_FOUND, e.status());
      return;
    }
    assertArrayEquals(expected, call.await());
  }

  @Test
  void register_modelThatCannotBe_leavesNothing() throws Exception {
    ImportedModel huge = TestImports.of(TestModels.chain(LAYERS * 2 + 1, WIDTH, 1), "huge", folder);
    assertEquals(Status.INSUFFICIENT_MEMORY, refused(() -> switcher.register(huge)));
    ImportedModel broken = chain("broken", 1);
    Files.write(broken.gatedModel(), new byte[] {1, 2, 3});
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> switcher.register(broken)));
    assertEquals(List.of(), switcher.memory().weights().entries());
    assertEquals(0, switcher.memory().constantBytes());
    assertEquals(Status.NOT_FOUND, refused(() -> infer(broken, input(1))));
    assertEquals(Status.NOT_FOUND, refused(() -> switcher.deregister(broken.version())));
  }

  private static Status refused(Runnable work) {
    return assertThrows(StatusException.class, work::run).status();
  }

  /** {@code y = table[x]}: an index beyond its 64 rows fails while the model runs. */
  private static ModelProto lookup() {
    Random random = new Random(1);
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.INT64, -1))
            .addInitializer(TestModels.weight("table", random, WIDTH, WIDTH))
            .addNode(TestModels.node("Gather", List.of("table", "x"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32, -1, WIDTH)));
  }

  private Call look(ModelVersion model, long index) {
    MemorySegment data =
        java.lang.foreign.Arena.ofAuto()
            .allocateFrom(java.lang.foreign.ValueLayout.JAVA_LONG, index);
    InputTensor input = new InputTensor("x", TensorType.INT64, Shape.of(1), data);
    Call call = new Call();
    switcher.submit(new InferenceRequest(model, List.of(input), List.of("y")), call);
    return call;
  }

  @Test
  void run_valuesThatMakeAnOperatorFail_areTheCallersFaultAndTheNextRunIsRight() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "a GPU's kernels do not check their indices");
    ImportedModel model = TestImports.of(lookup(), "lookup", folder);
    switcher.register(model);
    float[] expected = look(model.version(), 63).await();
    var before = switcher.memory();
    StatusException error =
        assertThrows(StatusException.class, () -> look(model.version(), 64).await());
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertTrue(error.toString().contains("lookup/1"), error.toString());
    assertArrayEquals(expected, look(model.version(), 63).await());
    assertEquals(before.weights(), switcher.memory().weights());
    assertEquals(before.constantBytes(), switcher.memory().constantBytes());
  }

  @Test
  void run_weightsCannotBeRead_isTheServersFaultAndTheNextRunIsRight() throws Exception {
    ImportedModel model = chain("m", 1);
    switcher.register(model);
    nextSources.add(HeldSource.failing(model.plan().weightBytes()));
    nextSources.add(HeldSource.failing(model.plan().weightBytes()));
    assertEquals(Status.INTERNAL, refused(() -> infer(model, input(1))));
    float[] once = infer(model, input(1));
    assertArrayEquals(once, infer(model, input(1)));
    assertEquals(2, switcher.transfers().failedLoads());
  }

  @Test
  void run_weightsCannotBeReadOnce_isAnsweredAllTheSame() throws Exception {
    ImportedModel model = chain("m", 1);
    switcher.register(model);
    nextSources.add(HeldSource.failing(model.plan().weightBytes()));
    float[] once = infer(model, input(1));
    assertArrayEquals(once, infer(model, input(1)));
    assertEquals(1, switcher.transfers().failedLoads());
  }

  @Test
  void cancel_beforeTheRun_answersOnceAndOthersGoOn() throws Exception {
    ImportedModel model = chain("m", 1);
    switcher.register(model);
    HeldSource held = HeldSource.holding(model.plan().weightBytes());
    nextSources.add(held);
    Call first = submit(model, input(1));
    Call second = submit(model, input(1));
    held.awaitReached();
    while (switcher.queue().requests() > 0) {
      Thread.onSpinWait();
    }
    Call third = new Call();
    var ticket = switcher.submit(Call.request(model.version(), input(1)), third);
    ticket.cancel();
    ticket.cancel();
    assertEquals(Status.CANCELLED, refused(third::await));
    assertEquals(0, switcher.queue().requests());
    held.release();
    first.await();
    second.await();
    assertEquals(1, third.answers());
  }

  @Test
  void drain_finishesWhatWasTakenAndRefusesMore() throws Exception {
    ImportedModel model = chain("m", 1);
    switcher.register(model);
    HeldSource held = HeldSource.holding(model.plan().weightBytes());
    nextSources.add(held);
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      calls.add(submit(model, input(i)));
    }
    held.awaitReached();
    assertTrue(!switcher.drain(Duration.ZERO), "they are under way");
    assertEquals(Status.UNAVAILABLE, refused(() -> infer(model, input(1))));
    held.release();
    assertTrue(switcher.drain(Duration.ofSeconds(20)));
    for (Call call : calls) {
      call.await();
      assertEquals(1, call.answers());
    }
  }

  @Test
  void answer_handlerThatThrows_costsNoLane() throws Exception {
    ImportedModel model = chain("m", 1);
    switcher.register(model);
    for (int i = 0; i < 5; i++) {
      switcher.submit(Call.request(model.version(), input(1)), new Broken());
    }
    infer(model, input(1));
  }

  /** A handler of a faulty caller. */
  private static final class Broken implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return java.lang.foreign.Arena.ofAuto().allocate(byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      throw new IllegalStateException("thrown on purpose");
    }

    @Override
    public void failed(StatusException error) {
      throw new AssertionError("completed was called", error);
    }
  }
}
