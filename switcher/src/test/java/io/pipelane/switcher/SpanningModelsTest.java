package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.config.PlacementConfig;
import io.pipelane.config.PlacementConfig.Routing;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.Ledger;
import io.pipelane.switcher.placement.LosableSessions;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Models that span two devices of the processor, each with room for some parts. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SpanningModelsTest {
  private static final int WIDTH = 64;
  private static final int LAYERS = 8;
  private static final long PAGE = 16 << 10;
  private static final long PART = (long) LAYERS * WIDTH * WIDTH * Float.BYTES;
  private static final List<String> NAMES = List.of("cpu:0", "cpu:1");

  @TempDir Path folder;
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final List<CpuDevice> devices = new ArrayList<>();
  private final List<FailingDevice> failing = new ArrayList<>();
  private final Map<String, LosableSessions> sessions = new LinkedHashMap<>();
  private final Map<String, Switcher> switchers = new LinkedHashMap<>();
  private final List<SwitcherGroup> groups = new ArrayList<>();
  private volatile UnaryOperator<WeightSource> source = UnaryOperator.identity();

  /** Devices with room for so many parts each, and one lane. */
  private SwitcherGroup open(int parts) {
    long bytes = parts * PART;
    for (String name : NAMES) {
      CpuDevice device =
          CpuDevice.open(name, new ByteSize(bytes), new ByteSize(PAGE), Bandwidth.UNLIMITED);
      DeviceMemory memory = new DeviceMemory(device.persistent());
      LosableSessions losable = new LosableSessions(runtime.sessions(device, memory, 1));
      FailingDevice mayFail = new FailingDevice(device);
      SwitcherSettings settings =
          new SwitcherSettings(bytes, 64 << 20, 1, 1000, 64 << 20, new EqualBytesGrouping(8, 1));
      devices.add(device);
      failing.add(mayFail);
      sessions.put(name, losable);
      switchers.put(name, new Switcher(mayFail, memory, losable, settings, this::weights));
    }
    SwitcherGroup group =
        new SwitcherGroup(
            switchers,
            new PlacementConfig(
                Routing.PREDICTED, true, Duration.ofSeconds(30), true, 0, Duration.ZERO),
            2,
            System::nanoTime);
    groups.add(group);
    return group;
  }

  /** Weights that {@link #source} may hold up, or refuse; it is told them by their first bytes. */
  private WeightSource weights(ImportedModel model) {
    return source.apply(new Named(model.version().model(), ReadWeights.of(model)));
  }

  /** Weights that say whose they are. */
  private record Named(String model, WeightSource source) implements WeightSource {
    @Override
    public long byteSize() {
      return source.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      source.read(offset, destination);
    }

    @Override
    public void close() {
      source.close();
    }
  }

  private static boolean areOf(WeightSource weights, String model) {
    return ((Named) weights).model.equals(model);
  }

  @AfterEach
  void everythingIsGivenBack() {
    groups.forEach(SwitcherGroup::close);
    for (Switcher switcher : switchers.values()) {
      switcher.verify();
      until(() -> switcher.memory().weights().isQuiet());
      switcher.close();
    }
    for (CpuDevice device : devices) {
      assertEquals(0, device.persistent().usedBytes());
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
    runtime.close();
  }

  private static void until(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      Thread.onSpinWait();
    }
  }

  private Switcher switcher(int device) {
    return Objects.requireNonNull(switchers.get(NAMES.get(device)));
  }

  private ImportedModel register(SwitcherGroup group, String name, long seed) throws IOException {
    ImportedModel model = TestImports.of(TestModels.chain(LAYERS, WIDTH, seed), name, folder);
    group.register(model, ModelOptions.DEFAULT);
    return model;
  }

  /** A model of two parts, in the order in which they run. */
  private record Both(String name, ImportedModel first, ImportedModel second) {
    List<ModelVersion> models() {
      return List.of(first.version(), second.version());
    }
  }

  /** Whose first part is on a device, and the second on the other one. */
  private Both span(SwitcherGroup group, String name, int device, long seed) throws IOException {
    group.spans().place(name, Map.of(name + "1", device, name + "2", 1 - device));
    return new Both(name, register(group, name + "1", seed), register(group, name + "2", seed + 1));
  }

  /** Whose first part is on the first device. */
  private void evict(Both both) {
    switcher(0).evict(both.first.version());
    switcher(1).evict(both.second.version());
  }

  private static float[] input(long seed) {
    Random random = new Random(seed);
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  private static float[] infer(InferenceService.Hold service, ImportedModel model, float[] x) {
    Call call = new Call();
    InferenceService.Ticket _ = service.submit(Call.request(model.version(), x), call);
    float[] answer = call.await();
    assertEquals(1, call.answers());
    return answer;
  }

  private static float[] ask(SwitcherGroup group, Both both, float[] x) {
    try (Hold whole = group.spans().switchIn(both.name, both.models())) {
      return infer(whole, both.second, infer(whole, both.first, x));
    }
  }

  /** What the parts answer one after another, as models of their own. */
  private static float[] chained(SwitcherGroup group, Both both, float[] x) {
    return infer(group::submit, both.second, infer(group::submit, both.first, x));
  }

  private long lent(int device) {
    return switcher(device).memory().weights().lentBytes();
  }

  private long resident(int device, ImportedModel model) {
    return switcher(device).memory().weights().entries().stream()
        .filter(entry -> entry.model().equals(model.version()))
        .mapToLong(Ledger.Entry::residentBytes)
        .sum();
  }

  private void verify() {
    switchers.values().forEach(Switcher::verify);
  }

  @Test
  void parts_areOnTheirDevicesAlone_andAnswerAsModelsOneAfterAnother() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 1, 1);
    assertEquals(List.of("cpu:1"), group.devices(both.first.version()));
    assertEquals(List.of("cpu:0"), group.devices(both.second.version()));
    assertEquals(List.of("cpu:1"), group.devicesThatCanServe(both.first.version()));
    for (int i = 0; i < 10; i++) {
      assertArrayEquals(chained(group, both, input(i)), ask(group, both, input(i)));
    }
    assertEquals(PART, lent(0));
    assertEquals(PART, lent(1));
    group.overview().values().forEach(each -> assertEquals(20, each.online().requests()));
  }

  @Test
  void place_afterModelsAreThere_movesThem_andForgetLetsThemBe() throws Exception {
    SwitcherGroup group = open(2);
    ImportedModel first = register(group, "both1", 1);
    ImportedModel second = register(group, "both2", 2);
    Both both = new Both("both", first, second);
    float[] expected = chained(group, both, input(0));
    assertEquals(List.of("cpu:0"), group.devices(first.version()));
    group.spans().place("both", Map.of("both1", 1, "both2", 0));
    assertEquals(List.of("cpu:1"), group.devices(first.version()));
    until(() -> lent(0) + lent(1) == 0); // What lay elsewhere goes as its last runs end.
    assertArrayEquals(expected, ask(group, both, input(0)));
    group.spans().forget("both");
    assertEquals(NAMES, group.devicesThatCanServe(first.version()).stream().sorted().toList());
    assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    switcher(0).evict(second.version());
    assertEquals(PART, lent(1), "they give way one by one");
  }

  /** A run waits for a read that hangs; where the model is to be is said meanwhile. */
  @Test
  void place_weightsAreOnTheirWayElsewhere_waitsForNothing() throws Exception {
    SwitcherGroup group = open(2);
    ImportedModel first = register(group, "both1", 1);
    ImportedModel second = register(group, "both2", 2);
    float[] expected = infer(group::submit, first, input(0));
    switcher(0).evict(first.version());
    CountDownLatch readGoesOn = new CountDownLatch(1);
    source = weights -> new HeldUp(weights, readGoesOn, new CountDownLatch(1));
    Call call = new Call();
    InferenceService.Ticket _ = group.submit(Call.request(first.version(), input(0)), call);
    until(() -> lent(0) > 0);
    group.spans().place("both", Map.of("both1", 1, "both2", 0));
    assertEquals(List.of("cpu:1"), group.devices(first.version()));
    assertEquals(List.of("cpu:0"), group.devices(second.version()));
    assertEquals(0, call.answers());
    readGoesOn.countDown();
    assertArrayEquals(expected, call.await());
    until(() -> lent(0) == 0);
  }

  @Test
  void place_whatCannotBe_isRefusedAndSaysWhy() throws Exception {
    SwitcherGroup group = open(2);
    group.spans().place("both", Map.of("a", 0, "b", 1));
    StatusException twice =
        assertThrows(
            StatusException.class, () -> group.spans().place("other", Map.of("b", 0, "c", 1)));
    assertEquals(Status.INVALID_ARGUMENT, twice.status());
    assertTrue(String.valueOf(twice.getMessage()).contains("part of both"), twice::getMessage);
    StatusException third =
        assertThrows(StatusException.class, () -> group.spans().place("both", Map.of("a", 2)));
    assertTrue(String.valueOf(third.getMessage()).contains("no device 2"), third::getMessage);
    group.spans().forget("both");
    group.spans().place("other", Map.of("b", 0, "c", 1));
    assertEquals(List.of("cpu:0"), group.devices(register(group, "b", 1).version()));
  }

  /** The first device's link stands still until the second one's has moved all that it has to. */
  @Test
  void switchIn_bothLinksMoveAtTheSameTime() throws Exception {
    SwitcherGroup group = open(1);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    evict(both);
    CountDownLatch secondHasCome = new CountDownLatch(1);
    source =
        weights ->
            new HeldUp(
                weights,
                areOf(weights, "both1") ? secondHasCome : new CountDownLatch(0),
                areOf(weights, "both2") ? secondHasCome : new CountDownLatch(1));
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  /** Weights that are read once a latch is open, and open another when they are given back. */
  private record HeldUp(WeightSource source, CountDownLatch before, CountDownLatch after)
      implements WeightSource {
    @Override
    public long byteSize() {
      return source.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      try {
        before.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      source.read(offset, destination);
    }

    @Override
    public void close() {
      source.close();
      after.countDown();
    }
  }

  @Test
  void switchIn_oneDeviceCannotReadItsPart_nothingStaysOnAny() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    ImportedModel beside = register(group, "beside", 9);
    float[] expected = chained(group, both, input(0));
    infer(group::submit, beside, input(0));
    evict(both);
    long[] before = {lent(0), lent(1)};
    source =
        weights -> {
          if (areOf(weights, "both2")) {
            throw new IllegalStateException("the file has gone");
          }
          return weights;
        };
    StatusException refused = assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains("cpu:1") && message.contains("the file has gone"), message);
    assertArrayEquals(before, new long[] {lent(0), lent(1)}, "rolled back on both");
    verify();
    source = UnaryOperator.identity();
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  @Test
  void copiesThatFailOnTheirWay_failTheRequestAndTakeTheUnitOut() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    evict(both);
    CountDownLatch requestHasFailed = new CountDownLatch(1);
    source =
        weights ->
            areOf(weights, "both2")
                ? new HeldUp(weights, requestHasFailed, new CountDownLatch(1))
                : weights;
    failing.get(1).failArrivals(1); // The others come when nobody waits for them any more.
    assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    requestHasFailed.countDown();
    source = UnaryOperator.identity();
    until(() -> lent(0) == 0 && lent(1) == 0);
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  /** A device that is lost while a request holds parts may fail in whatever it is asked to do. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void close_oneDeviceFails_theOtherOnesPartIsGivenBackAllTheSame(int lost) throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    evict(both);
    failing.get(lost).failArrivals(1);
    failing.get(lost).failUnmap(true);
    Hold whole = group.spans().switchIn(both.name, both.models());
    for (int device = 0; device < NAMES.size(); device++) {
      Switcher arriving = switcher(device);
      until(() -> arriving.memory().weights().entries().stream().noneMatch(Ledger.Entry::arriving));
    }
    whole.close();
    assertEquals(0, leases(1 - lost));
    failing.get(lost).failUnmap(false);
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  private int leases(int device) {
    return switcher(device).memory().weights().entries().stream()
        .mapToInt(Ledger.Entry::leases)
        .sum();
  }

  @Test
  void partsThatCanNeverBeTogether_areRefusedBeforeAnythingMoves() throws Exception {
    SwitcherGroup group = open(1);
    group.spans().place("three", Map.of("a", 0, "b", 1, "c", 1));
    ImportedModel beside = register(group, "beside", 9);
    infer(group::submit, beside, input(0));
    long[] before = {lent(0), lent(1)};
    List<ModelVersion> models = new ArrayList<>();
    models.add(register(group, "a", 1).version());
    models.add(register(group, "b", 2).version());
    ImportedModel other = TestImports.of(TestModels.chain(LAYERS - 1, WIDTH, 3), "c", folder);
    group.register(other, ModelOptions.DEFAULT);
    models.add(other.version());
    StatusException refused =
        assertThrows(StatusException.class, () -> group.spans().switchIn("three", models));
    assertEquals(Status.INSUFFICIENT_MEMORY, refused.status());
    assertTrue(
        String.valueOf(refused.getMessage()).contains("device cpu:1 cannot take its part of three"),
        refused::getMessage);
    assertArrayEquals(before, new long[] {lent(0), lent(1)});
  }

  @Test
  void partThatCannotBeTakenNow_saysWhenToTryAgain() throws Exception {
    SwitcherGroup group = open(1);
    Both both = span(group, "both", 0, 1);
    source =
        _ -> {
          throw StatusException.unavailable("not now", Duration.ofSeconds(3));
        };
    StatusException refused =
        assertThrows(StatusException.class, () -> group.spans().switchIn("both", both.models()));
    assertEquals(Status.UNAVAILABLE, refused.status());
    assertEquals(Duration.ofSeconds(3), refused.retryAfter());
    source = UnaryOperator.identity();
  }

  @Test
  void severalPartsOnADevice_ofDifferentGraphs_areThereTogether() throws Exception {
    SwitcherGroup group = open(2);
    group.spans().place("three", Map.of("a", 0, "b", 1, "c", 1));
    List<ModelVersion> models = new ArrayList<>();
    models.add(register(group, "a", 1).version());
    models.add(register(group, "b", 2).version());
    ImportedModel other = TestImports.of(TestModels.chain(LAYERS - 1, WIDTH, 3), "c", folder);
    group.register(other, ModelOptions.DEFAULT);
    models.add(other.version());
    try (Hold _ = group.spans().switchIn("three", models)) {
      assertEquals(PART, lent(0));
      assertTrue(lent(1) > PART);
    }
    ImportedModel alike = register(group, "d", 4);
    group.spans().place("three", Map.of("b", 1, "d", 1));
    StatusException refused =
        assertThrows(
            StatusException.class,
            () -> group.spans().switchIn("three", List.of(models.get(1), alike.version())));
    assertTrue(
        String.valueOf(refused.getMessage()).contains("variants of one graph"),
        refused::getMessage);
  }

  @Test
  void eviction_takesAllPartsOut() throws Exception {
    SwitcherGroup group = open(1);
    Both both = span(group, "both", 0, 1);
    ask(group, both, input(0));
    ImportedModel rival = register(group, "rival", 9);
    int device = NAMES.indexOf(group.devices(rival.version()).getFirst());
    infer(group::submit, rival, input(0));
    until(() -> lent(1 - device) == 0);
    assertEquals(PART, resident(device, rival));
    assertEquals(0, resident(0, both.first) + resident(1, both.second));
  }

  /** A run for want of whose memory the unit goes waits until the request has ended everywhere. */
  @Test
  void eviction_waitsForTheWhole_andThenTakesAllOut() throws Exception {
    SwitcherGroup group = open(1);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    ImportedModel rival = register(group, "rival", 9);
    int device = NAMES.indexOf(group.devices(rival.version()).getFirst());
    List<Call> rivals = new ArrayList<>();
    Hold whole = group.spans().switchIn(both.name, both.models());
    try {
      for (int i = 0; i < 8; i++) { // More than there are threads of lanes.
        rivals.add(new Call());
        group.submit(Call.request(rival.version(), input(i)), rivals.getLast());
      }
      until(() -> switcher(device).queue().requests() < 8);
      assertArrayEquals(expected, infer(whole, both.second, infer(whole, both.first, input(0))));
      assertEquals(0, rivals.stream().mapToInt(Call::answers).sum());
      assertEquals(PART, resident(0, both.first));
      assertEquals(PART, resident(1, both.second));
    } finally {
      whole.close();
    }
    rivals.forEach(Call::await);
    until(() -> lent(1 - device) == 0);
  }

  /** Two models that want the same two devices in opposite order, others beside them. */
  @Test
  void contention_everyRequestIsAnsweredAndNothingIsLeft() throws Exception {
    long seed = System.nanoTime();
    SwitcherGroup group = open(1);
    List<Both> spans = List.of(span(group, "there", 0, 1), span(group, "back", 1, 3));
    List<ImportedModel> rivals =
        List.of(register(group, "rival1", 8), register(group, "rival2", 9));
    List<float[]> expected = new ArrayList<>();
    for (Both both : spans) {
      expected.add(chained(group, both, input(0)));
    }
    List<Callable<Object>> clients = new ArrayList<>();
    for (int c = 0; c < 6; c++) {
      Random random = new Random(seed + c);
      clients.add(
          () -> {
            for (int k = 0; k < 60; k++) {
              int i = random.nextInt(3);
              if (i < 2) {
                assertArrayEquals(expected.get(i), ask(group, spans.get(i), input(0)));
              } else {
                infer(group::submit, rivals.get(random.nextInt(2)), input(0));
              }
              verify();
            }
            return "done";
          });
    }
    try (ExecutorService threads = Executors.newFixedThreadPool(clients.size())) {
      for (Future<Object> client : threads.invokeAll(clients)) {
        assertEquals("done", client.get(), "seed " + seed);
      }
    }
    until(
        () -> {
          for (Both both : spans) {
            if ((resident(both.name.equals("there") ? 0 : 1, both.first) == 0)
                != (resident(both.name.equals("there") ? 1 : 0, both.second) == 0)) {
              return false; // Whoever goes takes the rest along.
            }
          }
          return true;
        });
  }

  @Test
  void lostDevice_noOtherHasRoomForItsPart_theModelIsRefusedWithTheReason_andOthersGoOn()
      throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    ImportedModel beside = register(group, "beside", 9);
    ask(group, both, input(0));
    Objects.requireNonNull(sessions.get("cpu:1")).lose();
    StatusException refused = assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    assertEquals(Status.UNAVAILABLE, refused.status());
    String message = String.valueOf(refused.getMessage());
    assertTrue(
        message.contains("device cpu:1 is lost") && message.contains("restart the server"),
        message);
    assertThrows(StatusException.class, () -> group.spans().requireUsable("both", both.models()));
    assertThrows(
        StatusException.class, () -> infer(group::submit, both.second, input(0)), "nowhere else");
    infer(group::submit, beside, input(0));
    infer(group::submit, both.first, input(0));
  }

  @Test
  void lostDevice_anotherHasRoomForItsPart_isReplacedByThat() throws Exception {
    SwitcherGroup group = open(2);
    group.spans().place("both", Map.of("both1", 0, "both2", 1));
    ImportedModel first = register(group, "both1", 1);
    ImportedModel second = TestImports.of(TestModels.chain(LAYERS - 1, WIDTH, 2), "both2", folder);
    group.register(second, ModelOptions.DEFAULT);
    Both both = new Both("both", first, second);
    float[] expected = ask(group, both, input(0));
    try (Hold whole = group.spans().switchIn(both.name, both.models())) {
      Objects.requireNonNull(sessions.get("cpu:1")).lose();
      StatusException failed =
          assertThrows(StatusException.class, () -> infer(whole, second, input(0)));
      assertEquals(Status.UNAVAILABLE, failed.status(), failed.toString());
      group.spans().requireUsable("both", both.models());
      assertArrayEquals(expected, ask(group, both, input(0)), "beside one that is under way");
    }
    assertEquals(List.of("cpu:0"), group.devices(first.version()));
    assertEquals(List.of("cpu:0"), group.devices(second.version()));
    assertArrayEquals(expected, chained(group, both, input(0)));
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  @Test
  void switchIn_deviceIsLostMeanwhile_isToBeTriedAgain() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    evict(both);
    source =
        weights -> {
          if (areOf(weights, "both2")) {
            Objects.requireNonNull(sessions.get("cpu:1")).lose();
            throw new StatusException(Status.DEVICE_FAILURE, "it does nothing any more");
          }
          return weights;
        };
    StatusException refused =
        assertThrows(StatusException.class, () -> group.spans().switchIn(both.name, both.models()));
    assertEquals(Status.UNAVAILABLE, refused.status(), refused.toString());
    assertTrue(refused.toString().contains("cpu:1 was lost under it"), refused.toString());
  }

  @Test
  void switchIn_modelThatHasLeft_isRefused() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    ask(group, both, input(0));
    group.deregister(both.second.version());
    until(() -> lent(0) == 0);
    assertFalse(group.devices(both.first.version()).isEmpty());
    StatusException refused = assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    assertEquals(Status.NOT_FOUND, refused.status());
  }
}
