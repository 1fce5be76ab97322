package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
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
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.StatefulModels;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.placement.LosableSessions;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sequences on three devices, which are lost one after another; a state is {@code x w + s}. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MovingSequencesTest {
  private static final int WIDTH = 64;
  private static final long WEIGHTS = 4L * WIDTH * WIDTH * Float.BYTES;
  private static final List<String> NAMES = List.of("cpu:0", "cpu:1", "cpu:2");
  private static final long ROOM = 1 << 20;
  private static final int STEPS = 120;

  @TempDir Path folder;

  /** The devices, and a model that keeps state. */
  private final class Opened implements AutoCloseable {
    final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
    final Map<String, LosableSessions> sessions = new LinkedHashMap<>();
    final Map<String, Switcher> switchers = new LinkedHashMap<>();
    final List<CpuDevice> devices = new ArrayList<>();
    final SwitcherGroup group;
    final ImportedModel model;

    Opened(long hostStateBytes) throws Exception {
      this(hostStateBytes, System::nanoTime);
    }

    Opened(long hostStateBytes, LongSupplier nanoClock) throws Exception {
      this(hostStateBytes, nanoClock, TestModels.recurrent(WIDTH));
    }

    Opened(long hostStateBytes, LongSupplier nanoClock, ModelProto graph) throws Exception {
      for (String name : NAMES) {
        CpuDevice device =
            CpuDevice.open(
                name, new ByteSize(WEIGHTS), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
        DeviceMemory memory = new DeviceMemory(device.persistent());
        LosableSessions losable = new LosableSessions(runtime.sessions(device, memory, 1));
        devices.add(device);
        sessions.put(name, losable);
        switchers.put(
            name, new Switcher(device, memory, losable, settings(hostStateBytes), ReadWeights::of));
      }
      group =
          new SwitcherGroup(
              switchers,
              new PlacementConfig(
                  Routing.PREDICTED, true, Duration.ofSeconds(30), true, 0, Duration.ZERO),
              2,
              nanoClock);
      model = TestImports.of(graph, "m", folder);
      group.register(model, SequencesTest.keeping(Map.of("t", "s")));
    }

    private static SwitcherSettings settings(long hostStateBytes) {
      return SwitcherSettings.of(WEIGHTS, 64 << 20, 2, 1_000, 1 << 20, new EqualBytesGrouping(4, 1))
          .withHostStateBytes(hostStateBytes);
    }

    Call step(String id, int number) {
      return step(new SequenceStep(id, number == 0, false), number);
    }

    Call step(SequenceStep step, int number) {
      Call call = new Call();
      submit(step, number, call);
      return call;
    }

    void submit(SequenceStep step, int number, ResultHandler handler) {
      float[] x = new float[WIDTH];
      for (int i = 0; i < WIDTH; i++) {
        x[i] = (float) Math.sin(number * WIDTH + i);
      }
      InferenceRequest request = Call.request(model.version(), x);
      group.submit(
          new InferenceRequest(
              request.model(),
              request.inputs(),
              List.of("y"),
              OptionalLong.empty(),
              Priority.ONLINE,
              Optional.of(step)),
          handler);
    }

    List<float[]> undisturbed() {
      List<float[]> answers = new ArrayList<>();
      for (int i = 0; i < STEPS; i++) {
        answers.add(step("undisturbed", i).await());
      }
      return answers;
    }

    boolean hasSequences() {
      return group.hasSequences(model.version());
    }

    String home() {
      return group.devices(model.version()).getFirst();
    }

    void loseHome() {
      Objects.requireNonNull(sessions.get(home())).lose();
    }

    @Override
    public void close() {
      group.deregister(model.version());
      assertEquals(0, group.sequenceLogBytes());
      group.close();
      switchers.values().forEach(Switcher::close);
      devices.forEach(CpuDevice::close);
      runtime.close();
    }
  }

  /** Before and behind a checkpoint, and with nothing behind it. */
  @ParameterizedTest
  @ValueSource(ints = {1, 20, 31, 32, 33, 50, 64, 65})
  void deviceLost_betweenTwoSteps_goesOnFromTheLast(int lost) throws Exception {
    try (Opened opened = new Opened(ROOM)) {
      List<float[]> expected = opened.undisturbed();
      for (int i = 0; i < STEPS; i++) {
        if (i == lost) {
          opened.loseHome();
        }
        assertArrayEquals(expected.get(i), opened.step("s", i).await(), "step " + i);
      }
    }
  }

  /** One that began with no rows at all, in front of the first checkpoint and behind it. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 40})
  void deviceLost_stateThatGrows_goesOnFromTheLast(int lost) throws Exception {
    try (Opened opened = new Opened(ROOM, System::nanoTime, StatefulModels.mean(WIDTH))) {
      List<float[]> expected = opened.undisturbed();
      for (int i = 0; i < STEPS; i++) {
        if (i == lost) {
          opened.loseHome();
        }
        assertArrayEquals(expected.get(i), opened.step("s", i).await(), "step " + i);
      }
    }
  }

  @Test
  void devicesLost_whileStepsAreUnderWayAndWait_eachIsMadeOnceAndInOrder() throws Exception {
    try (Opened opened = new Opened(ROOM)) {
      List<float[]> expected = opened.undisturbed();
      List<Call> calls = new ArrayList<>();
      for (int i = 0; i < STEPS; i++) {
        calls.add(opened.step("s", i));
        if (i == STEPS / 3 || i == 2 * STEPS / 3) {
          opened.loseHome();
        }
        if (i >= 8) {
          assertArrayEquals(expected.get(i - 8), calls.get(i - 8).await(), "step " + (i - 8));
        }
      }
      for (int i = 0; i < STEPS; i++) {
        assertArrayEquals(expected.get(i), calls.get(i).await(), "step " + i);
        assertEquals(1, calls.get(i).answers());
      }
    }
  }

  @Test
  void sequenceThatEnds_takesNoMemoryAnyMore() throws Exception {
    try (Opened opened = new Opened(ROOM)) {
      for (int i = 0; i < 40; i++) {
        opened.step("s", i).await();
      }
      assertTrue(opened.group.sequenceLogBytes() > 0);
      Call last = opened.step(new SequenceStep("s", false, true), 40);
      last.await();
      while (opened.group.sequenceLogBytes() > 0) {
        Thread.onSpinWait(); // The step has ended once its caller has been told.
      }
      StatusException over =
          assertThrows(StatusException.class, () -> opened.step("s", 41).await());
      assertEquals(Status.INVALID_ARGUMENT, over.status());
    }
  }

  @Test
  void sequenceThatIsEnded_goesOnNowhere_andOthersDo() throws Exception {
    try (Opened opened = new Opened(ROOM)) {
      List<float[]> expected = opened.undisturbed();
      SequenceStep begin = new SequenceStep("s", true, false);
      opened.step(begin, 0).await();
      opened.step(begin.of("other"), 0).await();
      opened.group.endSequence(opened.model.version(), "", "s");
      opened.group.endSequence(opened.model.version(), "", "never");
      for (int i = 1; i < NAMES.size(); i++) {
        StatusException over =
            assertThrows(StatusException.class, () -> opened.step("s", 1).await());
        assertEquals(Status.INVALID_ARGUMENT, over.status());
        opened.loseHome();
        SequenceStep next = new SequenceStep("s", false, false).of("other");
        assertArrayEquals(expected.get(i), opened.step(next, i).await());
      }
    }
  }

  @Test
  void model_hasSequencesUntilTheLastOfThemEnds() throws Exception {
    try (Opened opened = new Opened(ROOM)) {
      assertFalse(opened.hasSequences());
      opened.step("s", 0).await();
      opened.step("t", 0).await();
      assertTrue(opened.hasSequences());
      opened.loseHome();
      assertTrue(opened.hasSequences(), "they go on elsewhere");
      opened.group.endSequence(opened.model.version(), "", "s");
      assertTrue(opened.hasSequences());
      opened.group.endSequence(opened.model.version(), "", "t");
      assertFalse(opened.hasSequences());
    }
  }

  /** Has something happen while it runs. */
  private record Watched(Call call, Runnable then) implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      then.run();
      return call.place(name, type, shape, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      call.completed(timings);
    }

    @Override
    public void failed(StatusException error) {
      call.failed(error);
    }
  }

  @Test
  void sequence_isIdleFromTheEndOfItsLastStep() throws Exception {
    AtomicLong now = new AtomicLong();
    try (Opened opened = new Opened(ROOM, now::get)) {
      List<float[]> expected = opened.undisturbed();
      Call first = new Call();
      Runnable minute = () -> now.addAndGet(Duration.ofSeconds(61).toNanos());
      opened.submit(new SequenceStep("s", true, false), 0, new Watched(first, minute));
      first.await();
      opened.step("other", 0).await();
      opened.loseHome();
      assertArrayEquals(expected.get(1), opened.step("s", 1).await());
    }
  }

  @Test
  void endThatFails_canBeSentAgain_whenItsDeviceIsLostToo() throws Exception {
    try (Opened opened = new Opened(ROOM)) {
      List<float[]> expected = opened.undisturbed();
      opened.step("s", 0).await();
      Call failing = new Call();
      Runnable noRoom =
          () -> {
            throw new StatusException(Status.INSUFFICIENT_MEMORY, "on demand");
          };
      SequenceStep end = new SequenceStep("s", false, true);
      opened.submit(end, 1, new Watched(failing, noRoom));
      assertEquals(
          Status.INSUFFICIENT_MEMORY, assertThrows(StatusException.class, failing::await).status());
      opened.loseHome();
      assertArrayEquals(expected.get(1), opened.step(end, 1).await());
    }
  }

  @Test
  void noRoomOnTheHost_sequenceEndsWithItsDevice_andMayBeginAnew() throws Exception {
    try (Opened opened = new Opened(1)) {
      opened.step("s", 0).await();
      opened.step("s", 1).await();
      opened.loseHome();
      StatusException lost = assertThrows(StatusException.class, () -> opened.step("s", 2).await());
      assertEquals(Status.DEVICE_FAILURE, lost.status());
      assertTrue(String.valueOf(lost.getMessage()).contains("sequence_start"), lost.getMessage());
      float[] first = opened.step("s", 0).await();
      assertArrayEquals(opened.step("t", 0).await(), first);
    }
  }
}
