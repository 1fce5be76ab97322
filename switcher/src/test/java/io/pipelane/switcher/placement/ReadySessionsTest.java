package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.config.PlacementConfig.Routing;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two devices of the processor, and a clock that is set by hand. */
class ReadySessionsTest {
  private static final int WIDTH = 16;
  private static final long WEIGHTS = 1 << 20;

  @TempDir private Path folder;
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final List<CpuDevice> devices = new ArrayList<>();
  private final List<Member> members = new ArrayList<>();
  private final List<LosableSessions> sessions = new ArrayList<>();
  private final List<Route> routes = new ArrayList<>();
  private final Map<ModelVersion, Double> uses = new HashMap<>();
  private double freeShare = 1;
  private long now;

  @BeforeEach
  void openDevices() {
    open();
    open();
  }

  private void open() {
    int index = members.size();
    String name = "cpu:" + index;
    CpuDevice device =
        CpuDevice.open(name, new ByteSize(WEIGHTS), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
    DeviceMemory memory = new DeviceMemory(device.persistent());
    LosableSessions losable = new LosableSessions(runtime.sessions(device, memory, 1));
    SwitcherSettings settings =
        new SwitcherSettings(WEIGHTS, 64 << 20, 2, 1000, 64 << 20, new EqualBytesGrouping(8, 1));
    devices.add(device);
    sessions.add(losable);
    members.add(
        new Member(
            index, name, new Switcher(device, memory, losable, settings, ReadySessionsTest::none)));
  }

  @AfterEach
  void everythingIsGivenBack() {
    for (Member member : members) {
      member.switcher.verify();
      member.switcher.close();
    }
    for (CpuDevice device : devices) {
      assertEquals(0, device.persistent().usedBytes());
      device.close();
    }
    runtime.close();
  }

  private static WeightSource none(ImportedModel model) {
    long bytes = model.plan().weightBytes();
    return new WeightSource() {
      @Override
      public long byteSize() {
        return bytes;
      }

      @Override
      public void read(long offset, MemorySegment destination) {
        throw new AssertionError("no weights come for a session that stands ready");
      }

      @Override
      public void close() {}
    };
  }

  /** A model of a structure of its own, at home on the first device, asked for so often. */
  private Route model(double asked) throws IOException {
    int number = routes.size();
    ImportedModel model =
        TestImports.of(TestModels.chain(2 + number, WIDTH, number), "m" + number, folder);
    members.forEach(member -> member.switcher.announce(model, ModelOptions.DEFAULT));
    assertTrue(members.getFirst().switcher.buildAhead(model.version()));
    List<Integer> all = members.stream().map(member -> member.index).toList();
    Route route =
        new Route(model.version(), all, false, members.size(), Duration.ofSeconds(1), now);
    routes.add(route);
    uses.put(model.version(), Math.log(asked));
    return route;
  }

  private static InferenceRequest request(Route route) {
    MemorySegment x = Arena.ofAuto().allocate(WIDTH * (long) Float.BYTES);
    InputTensor input = new InputTensor("x", TensorType.FP32, Shape.of(1, WIDTH), x);
    return new InferenceRequest(route.version, List.of(input), List.of("y"));
  }

  private ReadySessions ready(int most) {
    return new ReadySessions(members, most, _ -> freeShare, () -> now);
  }

  private boolean isOn(int device, Route route) {
    return members.get(device).switcher.hasSession(route.version);
  }

  private long builtOn(int device) {
    return members.get(device).switcher.memory().sessions().built();
  }

  @Test
  void review_oneSessionAtATime_theMostUsedFirst_andNoneWithoutUse() throws IOException {
    Route some = model(2);
    Route most = model(5);
    Route unused = model(0.1);
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    assertTrue(isOn(1, most));
    assertFalse(isOn(1, some));
    ready.review(routes, uses);
    assertTrue(isOn(1, some));
    ready.review(routes, uses);
    assertFalse(isOn(1, unused));
    assertEquals(2, builtOn(1));
    assertEquals(3, builtOn(0), "they have it at home");
    assertEquals(0, members.get(1).switcher.memory().weights().lentBytes());
  }

  @Test
  void review_atTheLimit_buildsNoMore() throws IOException {
    for (int i = 0; i < 4; i++) {
      model(2 + i);
    }
    ReadySessions ready = ready(2);
    for (int i = 0; i < 4; i++) {
      ready.review(routes, uses);
    }
    assertEquals(2, builtOn(1));
    assertTrue(isOn(1, routes.get(3)));
    assertTrue(isOn(1, routes.get(2)));
  }

  @Test
  void review_whileOnlineWorkIsThere_buildsNothing() throws IOException {
    Route route = model(2);
    Member other = members.get(1);
    other.backlog.came(Priority.ONLINE, 1_000);
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    assertFalse(isOn(1, route));
    other.backlog.left(Priority.ONLINE, 1_000);
    other.backlog.came(Priority.OFFLINE, 1_000);
    ready.review(routes, uses);
    assertTrue(isOn(1, route));
  }

  @Test
  void review_aModelOfTwoDevicesNeedsNoThird_untilOneIsLost() throws IOException {
    open();
    Route route = model(2);
    route.open(1, now);
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    assertFalse(isOn(2, route));
    sessions.getFirst().lose();
    ready.review(routes, uses);
    assertTrue(isOn(2, route));
  }

  @Test
  void review_onceAQuarterIsFreeNoMore_buildsNothing() throws IOException {
    Route route = model(2);
    ReadySessions ready = ready(32);
    freeShare = 0.2;
    ready.review(routes, uses);
    assertFalse(isOn(1, route));
    freeShare = 0.3;
    ready.review(routes, uses);
    assertTrue(isOn(1, route));
  }

  @Test
  void choose_deviceLost_theOneWithAReadySessionTakesOver() throws IOException {
    open();
    Route route = model(2);
    assertTrue(members.get(2).switcher.buildAhead(route.version));
    sessions.getFirst().lose();
    Router router = new Router(members, Routing.PREDICTED, () -> now);
    assertEquals(members.get(2), router.choose(route, request(route)).member());
  }
}
