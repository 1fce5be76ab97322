package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sequences whose states take more working memory than there is. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StatesWrittenOutTest {
  private static final int WIDTH = TestDevices.ON_GPU ? 1024 : 64;
  private static final int ROWS = TestDevices.ON_GPU ? 8192 : 4096;
  private static final long STATE = (long) ROWS * WIDTH * Float.BYTES;
  private static final long WEIGHTS =
      TestDevices.ON_GPU ? 32 << 20 : 4L * WIDTH * WIDTH * Float.BYTES;

  /** Room for a run, and for the states of some sequences, two copies each. */
  private static final long WORKING = 20 * STATE + (TestDevices.ON_GPU ? 512 << 20 : 0);

  @TempDir Path folder;

  /** A switcher, and all that it needs. */
  private final class Opened implements AutoCloseable {
    final Device device = TestDevices.open(WEIGHTS, 16 << 10);
    final DeviceMemory memory = new DeviceMemory(device.persistent());
    final Switcher switcher;
    final ImportedModel model;

    Opened(long hostStateBytes) throws IOException {
      switcher =
          new Switcher(
              device,
              memory,
              TestDevices.sessions(device, memory),
              SwitcherSettings.of(WEIGHTS, WORKING, 1, 1_000, 1 << 30, new EqualBytesGrouping(4, 1))
                  .withHostStateBytes(hostStateBytes),
              ReadWeights::of);
      model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
      switcher.register(model, SequencesTest.keeping(Map.of("t", "s")));
    }

    /** The first number of the answer. */
    float step(String sequence, boolean start, float value, Arena arena) throws Exception {
      MemorySegment x = arena.allocate(STATE, 64);
      for (long at = 0; at < STATE; at += Float.BYTES) {
        x.set(ValueLayout.JAVA_FLOAT, at, value);
      }
      Call call = new Call();
      switcher.submit(
          new InferenceRequest(
              model.version(),
              List.of(new InputTensor("x", TensorType.FP32, Shape.of(ROWS, WIDTH), x)),
              List.of("y"),
              OptionalLong.empty(),
              Priority.ONLINE,
              Optional.of(new SequenceStep(sequence, start, false))),
          call);
      return call.await()[0];
    }

    /** The first number of what a model of no state answers to zeros. */
    float askWithoutState(ImportedModel other, int rows, Arena arena) throws Exception {
      MemorySegment x = arena.allocate(STATE / ROWS * rows, 64);
      InputTensor input = new InputTensor("x", TensorType.FP32, Shape.of(rows, WIDTH), x);
      Call call = new Call();
      switcher.submit(
          new InferenceRequest(
              other.version(),
              List.of(input, new InputTensor("s", TensorType.FP32, input.shape(), x)),
              List.of("y"),
              OptionalLong.empty(),
              Priority.ONLINE,
              Optional.empty()),
          call);
      return call.await()[0];
    }

    /** Begins sequences until one finds no room; answers how many there are. */
    int fill(Arena arena) throws Exception {
      int begun = 0;
      while (true) {
        try {
          step("filling " + begun, true, 1, arena);
          begun++;
        } catch (StatusException e) {
          assertEquals(Status.UNAVAILABLE, e.status(), e.getMessage());
          Optional<SequenceState> refused = switcher.sequence(model.version(), "filling " + begun);
          if (refused.isPresent()) { // It has its state until its step has wholly ended.
            boolean _ = refused.get().read(tensors -> {});
            refused.get().end();
          }
          return begun;
        }
      }
    }

    @Override
    public void close() {
      switcher.verify();
      switcher.close();
      assertEquals(0, device.persistent().usedBytes());
      device.close();
    }
  }

  @Test
  void moreSequencesThanFit_allGoOnAsAlone() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int sequences = 25;
    try (Opened opened = new Opened(sequences * STATE);
        Arena arena = Arena.ofShared()) {
      float[] sums = new float[sequences];
      float one = opened.step("alone", true, 1, arena);
      for (int i = 0; i < sequences; i++) {
        opened.step("sequence " + i, true, 1, arena);
        sums[i] = 1;
      }
      for (int i = 0; i < 100; i++) {
        int which = random.nextInt(sequences);
        int value = 1 + random.nextInt(3);
        sums[which] += value;
        assertEquals(
            sums[which] * one,
            opened.step("sequence " + which, false, value, arena),
            Math.abs(sums[which] * one) * 1e-3f + 1e-3f,
            "seed " + seed + ", step " + i);
        opened.switcher.verify();
      }
      assertTrue(opened.switcher.states().timesWrittenOut() > sequences / 2);
      opened.switcher.deregister(opened.model.version());
      assertEquals(0, opened.switcher.states().writtenOutBytes());
    }
  }

  @Test
  void noRoomOnTheHost_isRefusedAndOthersGoOn() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "what a GPU's session takes is not known that well");
    try (Opened opened = new Opened(STATE);
        Arena arena = Arena.ofShared()) {
      int begun = opened.fill(arena);
      assertTrue(begun > 1, () -> begun + " fitted");
      assertEquals(STATE, opened.switcher.states().writtenOutBytes());
      float one = opened.step("filling 1", true, 1, arena);
      for (int i = begun - 1; i > 1; i--) { // The first is the one that is written out.
        float answer = opened.step("filling " + i, false, 1, arena);
        assertEquals(2 * one, answer, Math.abs(one) * 1e-3f, "sequence " + i);
      }
      assertThrows(StatusException.class, () -> opened.step("one more", true, 1, arena));
    }
  }

  /** A run that could be had without them is not refused because of states that wait. */
  @Test
  void runThatNeedsTheirRoom_getsIt() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "what a GPU's session takes is not known that well");
    try (Opened opened = new Opened(40 * STATE);
        Arena arena = Arena.ofShared()) {
      float one = opened.step("first", true, 1, arena);
      for (int i = 0; i < 8; i++) {
        opened.step("sequence " + i, true, 1, arena);
      }
      long before = opened.switcher.states().timesWrittenOut();
      ImportedModel wide = TestImports.of(TestModels.recurrent(WIDTH), "wide", folder);
      opened.switcher.register(wide);
      assertEquals(0, opened.askWithoutState(wide, 3 * ROWS, arena));
      assertTrue(opened.switcher.states().timesWrittenOut() > before);
      assertEquals(2 * one, opened.step("first", false, 1, arena), Math.abs(one) * 1e-2f);
    }
  }

  /** However many sequences begin, and step by step go on, a run of another model finds a lane. */
  @Test
  void runOfAnotherModel_isMade_thoughStatesHaveAllThatTheyCan() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "what a GPU's session takes is not known that well");
    try (Opened opened = new Opened(STATE);
        Arena arena = Arena.ofShared()) {
      ImportedModel other = TestImports.of(TestModels.recurrent(WIDTH), "other", folder);
      opened.switcher.register(other);
      int begun = opened.fill(arena);
      assertTrue(begun > 3, () -> begun + " fitted");
      for (int i = 0; i < 2 * begun; i++) {
        float _ = opened.step("filling " + i % begun, false, 1, arena);
        assertEquals(0, opened.askWithoutState(other, ROWS, arena));
      }
    }
  }
}
