package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.placement.LosableSessions;
import io.pipelane.switcher.placement.MemberOverview;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two devices of the processor as one service, with room for two models each. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SwitcherGroupTest {
  private static final Duration LONGEST = Duration.ofSeconds(30);
  private static final int WIDTH = 64;
  private static final int LAYERS = 8;
  private static final long PAGE = 16 << 10;
  private static final long WEIGHTS = 2L * LAYERS * WIDTH * WIDTH * Float.BYTES;
  private static final int LANES = 2;
  private static final List<String> NAMES = List.of("cpu:0", "cpu:1");

  @TempDir Path folder;
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final Map<String, Switcher> switchers = new LinkedHashMap<>();
  private final Map<String, LosableSessions> sessions = new LinkedHashMap<>();
  private final List<CpuDevice> devices = new ArrayList<>();
  private final List<SwitcherGroup> groups = new ArrayList<>();

  SwitcherGroupTest() {
    for (String name : NAMES) {
      CpuDevice device =
          CpuDevice.open(name, new ByteSize(WEIGHTS), new ByteSize(PAGE), Bandwidth.UNLIMITED);
      DeviceMemory memory = new DeviceMemory(device.persistent());
      LosableSessions losable = new LosableSessions(runtime.sessions(device, memory, 1));
      SwitcherSettings settings =
          SwitcherSettings.of(
              WEIGHTS, 64 << 20, LANES, 1000, 64 << 20, new EqualBytesGrouping(8, 1));
      devices.add(device);
      sessions.put(name, losable);
      switchers.put(name, new Switcher(device, memory, losable, settings, ReadWeights::of));
    }
  }

  @AfterEach
  void everythingIsGivenBack() {
    groups.forEach(SwitcherGroup::close);
    for (Switcher switcher : switchers.values()) {
      switcher.verify();
      await(() -> switcher.memory().weights().isQuiet(), "weights to have arrived");
      switcher.close();
    }
    for (CpuDevice device : devices) {
      assertEquals(0, device.persistent().usedBytes());
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
    runtime.close();
  }

  private SwitcherGroup group(Routing routing, Duration halfLife) {
    return group(routing, halfLife, 0);
  }

  private SwitcherGroup group(Routing routing, Duration halfLife, int readySessions) {
    SwitcherGroup group =
        new SwitcherGroup(
            switchers,
            new PlacementConfig(routing, true, halfLife, true, readySessions, Duration.ZERO),
            2,
            System::nanoTime);
    groups.add(group);
    return group;
  }

  private SwitcherGroup group(Routing routing) {
    return group(routing, Duration.ofSeconds(30));
  }

  private Switcher switcher(String name) {
    return Objects.requireNonNull(switchers.get(name));
  }

  private void lose(String name) {
    Objects.requireNonNull(sessions.get(name)).lose();
  }

  private static MemberOverview overview(SwitcherGroup group, String name) {
    return Objects.requireNonNull(group.overview().get(name));
  }

  private ImportedModel chain(String name, long seed) throws IOException {
    return TestImports.of(TestModels.chain(LAYERS, WIDTH, seed), name, folder);
  }

  private List<ImportedModel> register(SwitcherGroup group, int count) throws IOException {
    List<ImportedModel> models = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      models.add(chain("m" + i, i));
      group.register(models.get(i), ModelOptions.DEFAULT);
    }
    return models;
  }

  private static Call submit(SwitcherGroup group, ImportedModel model, float... x) {
    Call call = new Call();
    group.submit(Call.request(model.version(), x), call);
    return call;
  }

  private static float[] infer(SwitcherGroup group, ImportedModel model, float... x) {
    return submit(group, model, x).await();
  }

  private static float[] input(long seed) {
    Random random = new Random(seed);
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  /** What one device alone answers, which the other has to answer as well. */
  private static List<float[]> expected(SwitcherGroup group, List<ImportedModel> models) {
    List<float[]> expected = new ArrayList<>();
    for (int i = 0; i < models.size(); i++) {
      expected.add(infer(group, models.get(i), input(i)));
    }
    return expected;
  }

  private static void ask(
      SwitcherGroup group, List<ImportedModel> models, List<float[]> expected, Random random) {
    int i = random.nextInt(models.size());
    assertArrayEquals(expected.get(i), infer(group, models.get(i), input(i)));
  }

  @Test
  void register_modelsHaveHomesByBytes_andTakeMemoryThereAlone() throws Exception {
    SwitcherGroup group = group(Routing.PREDICTED);
    List<ImportedModel> models = register(group, 4);
    assertEquals(List.of("cpu:0"), group.devices(models.get(0).version()));
    assertEquals(List.of("cpu:1"), group.devices(models.get(1).version()));
    assertEquals(2, overview(group, "cpu:0").models());
    expected(group, models);
    for (String name : NAMES) {
      assertEquals(WEIGHTS, switcher(name).memory().weights().lentBytes(), name);
    }
    models.forEach(model -> group.deregister(model.version()));
    for (String name : NAMES) {
      assertEquals(0, switcher(name).memory().weights().lentBytes(), name);
      assertEquals(0, switcher(name).memory().constantBytes(), name);
    }
    StatusException gone =
        assertThrows(StatusException.class, () -> infer(group, models.get(0), input(0)));
    assertEquals(Status.NOT_FOUND, gone.status());
  }

  @Test
  void deviceLost_whatWasAskedFor_findsItsSessionOnTheOther() throws Exception {
    SwitcherGroup group = group(Routing.PREDICTED, Duration.ofSeconds(30), 32);
    List<ImportedModel> models = new ArrayList<>();
    long weightBytes = 0;
    for (int i = 0; i < 4; i++) { // Each of a structure of its own.
      ImportedModel model = TestImports.of(TestModels.chain(LAYERS - i, WIDTH, i), "m" + i, folder);
      group.register(model, ModelOptions.DEFAULT);
      models.add(model);
      weightBytes += model.plan().weightBytes();
    }
    List<float[]> expected = expected(group, models);
    long lentBytes = 0;
    for (String name : NAMES) { // Its own, and the other's.
      await(() -> switcher(name).memory().sessions().built() >= 4, "four sessions on " + name);
      lentBytes += switcher(name).memory().weights().lentBytes();
    }
    assertEquals(weightBytes, lentBytes, "no weights lie twice");
    lose("cpu:0");
    for (int i = 0; i < models.size(); i++) {
      assertArrayEquals(expected.get(i), infer(group, models.get(i), input(i)));
      assertEquals(List.of("cpu:1"), group.devices(models.get(i).version()));
    }
    assertEquals(4, switcher("cpu:1").memory().sessions().built());
  }

  @Test
  void register_buildsASessionAtHomeAlone() throws Exception {
    SwitcherGroup group = group(Routing.STATIC);
    register(group, 1);
    assertEquals(1, switcher("cpu:0").memory().sessions().built());
    assertEquals(0, switcher("cpu:1").memory().sessions().built());
    assertEquals(0, switcher("cpu:1").memory().weights().lentBytes());
  }

  @Test
  void moreModelsThanMemory_everyAnswerIsBitwiseTheSameUnderEveryRouting() throws Exception {
    long seed = System.nanoTime();
    for (Routing routing : Routing.values()) {
      SwitcherGroup group = group(routing, Duration.ofMillis(100));
      List<ImportedModel> models = register(group, 8);
      List<float[]> expected = expected(group, models);
      Clients.ask(
          200,
          seed,
          random -> {
            ask(group, models, expected, random);
            switchers.values().forEach(Switcher::verify);
          });
      assertTrue(overview(group, "cpu:0").routed() > 0, routing + ", seed " + seed);
      assertTrue(overview(group, "cpu:1").routed() > 0, routing + ", seed " + seed);
      models.forEach(model -> group.deregister(model.version()));
    }
  }

  @Test
  void roundRobin_takesDevicesInTurn() throws Exception {
    SwitcherGroup group = group(Routing.ROUND_ROBIN);
    List<ImportedModel> models = register(group, 1);
    for (int i = 0; i < 10; i++) {
      infer(group, models.getFirst(), input(0));
    }
    assertEquals(5, overview(group, "cpu:0").routed());
    assertEquals(5, overview(group, "cpu:1").routed());
  }

  private static float[] inferOn(SwitcherGroup group, ImportedModel model, String device) {
    InferenceRequest any = Call.request(model.version(), input(0));
    Call call = new Call();
    group.submit(any.offline().at(RunPlace.ANY.on(Optional.of(device))), call);
    return call.await();
  }

  @Test
  void requestThatNamesItsDevice_isAnsweredThereUntilThatIsLost() throws Exception {
    SwitcherGroup group = group(Routing.STATIC);
    ImportedModel model = register(group, 1).getFirst();
    float[] expected = infer(group, model, input(0));
    for (int i = 0; i < 5; i++) {
      assertArrayEquals(expected, inferOn(group, model, "cpu:1"));
    }
    assertEquals(5, overview(group, "cpu:1").offline().requests());
    assertTrue(overview(group, "cpu:1").offline().runNanos() > 0);
    assertEquals(0, overview(group, "cpu:1").online().requests());
    assertEquals(1, overview(group, "cpu:0").online().requests());
    assertEquals(List.of("cpu:0"), group.devices(model.version()));
    assertArrayEquals(expected, inferOn(group, model, "cpu:7"));
    assertEquals(List.of("cpu:0", "cpu:1"), group.devicesThatCanServe(model.version()));
    lose("cpu:1");
    assertEquals(List.of("cpu:0"), group.devicesThatCanServe(model.version()));
    assertEquals(List.of(), group.devicesThatCanServe(new ModelVersion("unknown", 1)));
    assertArrayEquals(expected, inferOn(group, model, "cpu:1"));
    assertEquals(2, overview(group, "cpu:0").offline().requests());
  }

  @Test
  void deviceLostUnderLoad_everyRequestIsAnsweredByTheOther() throws Exception {
    SwitcherGroup group = group(Routing.PREDICTED);
    List<ImportedModel> models = register(group, 4);
    List<float[]> expected = expected(group, models);
    AtomicBoolean over = new AtomicBoolean();
    AtomicInteger answered = new AtomicInteger();
    List<Future<?>> clients = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      for (int c = 0; c < 4; c++) {
        Random random = new Random(c);
        clients.add(
            threads.submit(
                () -> {
                  while (!over.get()) {
                    ask(group, models, expected, random);
                    answered.incrementAndGet();
                  }
                }));
      }
      await(answered, 200);
      lose("cpu:1");
      await(answered, answered.get() + 400);
      over.set(true);
      for (Future<?> client : clients) {
        client.get();
      }
    }
    assertTrue(group.isUsable());
    assertFalse(overview(group, "cpu:1").usable());
    assertEquals(4, overview(group, "cpu:0").models());
    for (ImportedModel model : models) {
      assertEquals(List.of("cpu:0"), group.devices(model.version()));
    }
  }

  private static void await(AtomicInteger count, int atLeast) {
    await(() -> count.get() >= atLeast, atLeast + " answers");
  }

  /** Waits until something is so, which fails after a time that is long for all of it. */
  private static void await(BooleanSupplier condition, String what) {
    long endNanos = System.nanoTime() + LONGEST.toNanos();
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() - endNanos < 0, () -> "waited in vain for " + what);
      Thread.onSpinWait();
    }
  }

  /** All requests wait on the device that is lost; nobody else's turn comes before. */
  @Test
  void deviceLostWithAQueue_whatWaitsIsAnsweredOnce() throws Exception {
    SwitcherGroup group = group(Routing.STATIC);
    List<ImportedModel> models = register(group, 2);
    List<float[]> expected = expected(group, models);
    List<Call> calls = new ArrayList<>();
    lose("cpu:0");
    for (int i = 0; i < 200; i++) {
      calls.add(submit(group, models.get(i % 2), input(i % 2)));
    }
    for (int i = 0; i < calls.size(); i++) {
      assertArrayEquals(expected.get(i % 2), calls.get(i).await());
      assertEquals(1, calls.get(i).answers());
    }
    assertEquals(2, overview(group, "cpu:1").models());
  }

  @Test
  void versionThatIsHeld_leavesNoDeviceUntilItIsLetGo() throws Exception {
    SwitcherGroup group = group(Routing.ROUND_ROBIN);
    ImportedModel model = register(group, 1).getFirst();
    float[] expected = infer(group, model, input(0));
    InferenceService.Hold held = group.hold(model.version());
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<?> gone = threads.submit(() -> group.deregister(model.version()));
      await(() -> group.devices(model.version()).isEmpty(), "the model to leave service");
      assertThrows(StatusException.class, () -> infer(group, model, input(0)));
      assertThrows(StatusException.class, () -> group.hold(model.version()));
      for (int i = 0; i < 20; i++) {
        if (i == 10) {
          lose("cpu:1");
        }
        Call call = new Call();
        held.submit(Call.request(model.version(), input(0)), call);
        assertArrayEquals(expected, call.await());
      }
      assertFalse(gone.isDone());
      held.close();
      gone.get();
    }
    assertEquals(0, switcher("cpu:0").memory().weights().lentBytes());
  }

  @Test
  void allDevicesLost_requestsAreRefusedAndNothingIsUsable() throws Exception {
    SwitcherGroup group = group(Routing.PREDICTED);
    ImportedModel model = register(group, 1).getFirst();
    lose("cpu:0");
    lose("cpu:1");
    assertFalse(group.isUsable());
    StatusException refused =
        assertThrows(StatusException.class, () -> infer(group, model, input(0)));
    assertEquals(Status.DEVICE_FAILURE, refused.status());
    ImportedModel late = chain("late", 9);
    assertThrows(StatusException.class, () -> group.register(late, ModelOptions.DEFAULT));
  }

  @Test
  void registerAfterALoss_goesToTheOther() throws Exception {
    SwitcherGroup group = group(Routing.PREDICTED);
    lose("cpu:0");
    ImportedModel model = register(group, 1).getFirst();
    assertEquals(List.of("cpu:1"), group.devices(model.version()));
    infer(group, model, input(0));
  }

  @Test
  void hotModel_getsAReplicaAndLosesItWhenItRests() throws Exception {
    SwitcherGroup group = group(Routing.PREDICTED, Duration.ofMillis(200));
    ImportedModel hot = register(group, 1).getFirst();
    float[] expected = infer(group, hot, input(0));
    AtomicBoolean over = new AtomicBoolean();
    List<Future<?>> clients = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(16)) {
      for (int c = 0; c < 16; c++) {
        clients.add(
            threads.submit(
                () -> {
                  while (!over.get()) {
                    assertArrayEquals(expected, infer(group, hot, input(0)));
                  }
                }));
      }
      await(() -> overview(group, "cpu:1").routed() >= 100, "requests on the replica");
      assertTrue(switcher("cpu:1").memory().weights().lentBytes() > 0);
      over.set(true);
      for (Future<?> client : clients) {
        client.get();
      }
    }
    await(() -> group.devices(hot.version()).size() == 1, "the replica to go");
    infer(group, hot, input(0));
  }
}
