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
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.account.Ledger;
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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a switcher promises on any device, and a group of them, with room for two models each. */
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
  private final TestedSwitchers tested;
  private final Queue<WeightSource> nextSources = new ConcurrentLinkedQueue<>();

  /** Opens what is tested, of these settings on each device and with the contract's weights. */
  interface Opening {
    TestedSwitchers open(SwitcherSettings settings, Function<ImportedModel, WeightSource> weights);
  }

  SwitcherContract(Opening opening) {
    SwitcherSettings settings =
        SwitcherSettings.of(WEIGHTS, WORKING, LANES, 100, 1 << 20, new EqualBytesGrouping(8, 1));
    tested = opening.open(settings, this::weights);
  }

  private WeightSource weights(ImportedModel model) {
    @Nullable WeightSource source = nextSources.poll();
    return source != null ? source : ReadWeights.of(model);
  }

  @AfterEach
  void everythingIsGivenBack() {
    tested.verify();
    for (Switcher switcher : tested.switchers()) {
      while (!switcher.memory().weights().isQuiet()) {
        Thread.onSpinWait(); // A run may go on after its answer: a GPU's is captured.
      }
    }
    tested.close();
    for (Device device : tested.devices()) {
      assertEquals(0, device.persistent().usedBytes());
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
  }

  private ImportedModel chain(String name, long seed) throws IOException {
    return TestImports.of(TestModels.chain(LAYERS, WIDTH, seed), name, folder);
  }

  private Call submit(ImportedModel model, float... x) {
    Call call = new Call();
    tested.service().submit(Call.request(model.version(), x), call);
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
      tested.register(models.get(i));
      expected.add(infer(models.get(i), input(i)));
    }
    long seed = System.nanoTime();
    Clients.ask(
        300,
        seed,
        random -> {
          int i = random.nextInt(models.size());
          assertArrayEquals(expected.get(i), infer(models.get(i), input(i)), "seed " + seed);
          tested.verify();
        });
    assertTrue(tested.total(each -> each.transfers().pagesTakenBack()) > 0);
    assertEquals(0, tested.failedLoads());
  }

  @Test
  void registerAndDeregister_whileRequestsRun_answersAreRightOrNotFound() throws Exception {
    ImportedModel steady = chain("steady", 1);
    ImportedModel comes = chain("comes", 2);
    tested.register(steady);
    tested.register(comes);
    float[] expected = infer(steady, input(1));
    float[] other = infer(comes, input(2));
    long constants = tested.constantBytes();
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
        tested.deregister(comes.version());
        tested.verify();
        tested.register(comes);
        tested.verify();
      }
      client.get();
    }
    long change = tested.constantBytes() - constants;
    assertTrue(Math.abs(change) <= DRIVERS_NOISE_BYTES, change + " bytes");
    tested.deregister(comes.version());
    tested.deregister(steady.version());
    assertEquals(0, tested.constantBytes());
    assertEquals(0, tested.lentBytes());
  }

  @Test
  void deregister_versionThatIsHeld_answersItsHoldersUntilTheyLetGo() throws Exception {
    ImportedModel model = chain("m", 1);
    tested.register(model);
    float[] expected = infer(model, input(1));
    InferenceService.Hold one = tested.service().hold(model.version());
    InferenceService.Hold other = tested.service().hold(model.version());
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<?> gone = threads.submit(() -> tested.deregister(model.version()));
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
    tested.verify();
    assertEquals(List.of(), entries());
    assertEquals(0, tested.constantBytes());
    Call late = new Call();
    assertEquals(
        Status.NOT_FOUND,
        refused(() -> other.submit(Call.request(model.version(), input(1)), late)));
    assertEquals(0, late.answers());
    tested.register(model);
    assertArrayEquals(expected, infer(model, input(1)));
  }

  private boolean isHeld(ModelVersion version) {
    try {
      tested.service().hold(version).close();
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
    assertEquals(Status.INSUFFICIENT_MEMORY, refused(() -> tested.register(huge)));
    ImportedModel broken = chain("broken", 1);
    Files.write(broken.gatedModel(), new byte[] {1, 2, 3});
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> tested.register(broken)));
    assertEquals(List.of(), entries());
    assertEquals(0, tested.constantBytes());
    assertEquals(Status.NOT_FOUND, refused(() -> infer(broken, input(1))));
    assertEquals(Status.NOT_FOUND, refused(() -> tested.deregister(broken.version())));
  }

  private List<Ledger> ledgers() {
    return tested.switchers().stream().map(each -> each.memory().weights()).toList();
  }

  private List<Ledger.Entry> entries() {
    return ledgers().stream().flatMap(ledger -> ledger.entries().stream()).toList();
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
    tested.service().submit(new InferenceRequest(model, List.of(input), List.of("y")), call);
    return call;
  }

  @Test
  void run_valuesThatMakeAnOperatorFail_areTheCallersFaultAndTheNextRunIsRight() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "a GPU's kernels do not check their indices");
    ImportedModel model = TestImports.of(lookup(), "lookup", folder);
    tested.register(model);
    float[] expected = look(model.version(), 63).await();
    List<Ledger> before = ledgers();
    long constants = tested.constantBytes();
    StatusException error =
        assertThrows(StatusException.class, () -> look(model.version(), 64).await());
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertTrue(error.toString().contains("lookup/1"), error.toString());
    assertArrayEquals(expected, look(model.version(), 63).await());
    assertEquals(before, ledgers());
    assertEquals(constants, tested.constantBytes());
  }

  @Test
  void run_weightsCannotBeRead_isTheServersFaultAndTheNextRunIsRight() throws Exception {
    ImportedModel model = chain("m", 1);
    tested.register(model);
    nextSources.add(HeldSource.failing(model.plan().weightBytes()));
    nextSources.add(HeldSource.failing(model.plan().weightBytes()));
    assertEquals(Status.INTERNAL, refused(() -> infer(model, input(1))));
    float[] once = infer(model, input(1));
    assertArrayEquals(once, infer(model, input(1)));
    assertEquals(2, tested.failedLoads());
  }

  @Test
  void run_weightsCannotBeReadOnce_isAnsweredAllTheSame() throws Exception {
    ImportedModel model = chain("m", 1);
    tested.register(model);
    nextSources.add(HeldSource.failing(model.plan().weightBytes()));
    float[] once = infer(model, input(1));
    assertArrayEquals(once, infer(model, input(1)));
    assertEquals(1, tested.failedLoads());
  }

  @Test
  void cancel_beforeTheRun_answersOnceAndOthersGoOn() throws Exception {
    ImportedModel model = chain("m", 1);
    tested.register(model);
    HeldSource held = HeldSource.holding(model.plan().weightBytes());
    nextSources.add(held);
    Call first = submit(model, input(1));
    Call second = submit(model, input(1));
    held.awaitReached();
    while (tested.queuedRequests() > 0) {
      Thread.onSpinWait();
    }
    Call third = new Call();
    var ticket = tested.service().submit(Call.request(model.version(), input(1)), third);
    ticket.cancel();
    ticket.cancel();
    assertEquals(Status.CANCELLED, refused(third::await));
    assertEquals(0, tested.queuedRequests());
    held.release();
    first.await();
    second.await();
    assertEquals(1, third.answers());
  }

  /** Wherever it computes; a GPU is given such a run whole. */
  @Test
  void cancel_runWhoseWeightsAreOnTheirWay_endsItOnceAndTheNextIsAnswered() throws Exception {
    ImportedModel model = chain("m", 1);
    tested.register(model);
    HeldSource held = HeldSource.holding(model.plan().weightBytes());
    nextSources.add(held);
    Call call = new Call();
    var ticket = tested.service().submit(Call.request(model.version(), input(1)), call);
    held.awaitReached();
    ticket.cancel();
    held.release();
    if (TestDevices.ON_GPU) {
      while (call.answers() == 0) {
        Thread.onSpinWait();
      }
    } else {
      assertEquals(Status.CANCELLED, refused(call::await));
    }
    float[] once = infer(model, input(1));
    assertArrayEquals(once, infer(model, input(1)));
    assertEquals(1, call.answers());
  }

  @Test
  void drain_finishesWhatWasTakenAndRefusesMore() throws Exception {
    ImportedModel model = chain("m", 1);
    tested.register(model);
    HeldSource held = HeldSource.holding(model.plan().weightBytes());
    nextSources.add(held);
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      calls.add(submit(model, input(i)));
    }
    held.awaitReached();
    assertTrue(!tested.drain(Duration.ZERO), "they are under way");
    assertEquals(Status.UNAVAILABLE, refused(() -> infer(model, input(1))));
    held.release();
    assertTrue(tested.drain(Duration.ofSeconds(20)));
    for (Call call : calls) {
      call.await();
      assertEquals(1, call.answers());
    }
  }

  @Test
  void answer_handlerThatThrows_costsNoLane() throws Exception {
    ImportedModel model = chain("m", 1);
    tested.register(model);
    for (int i = 0; i < 5; i++) {
      tested.service().submit(Call.request(model.version(), input(1)), new Broken());
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
