package io.pipelane.lanes.cuda.execution.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.lanes.cuda.execution.GpuSessions;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("gpu")
class InputCopierTest {
  private static final int PINNED_BYTES = 32 << 20;
  private static final int LARGEST = 2_500_000;

  /** The device takes longer for them than the host for what it stages at a time. */
  private static final int COPIES_AHEAD = 40;

  /**
   * Small and large inputs, pinned or not or on the device, aligned or not, in any order; at first
   * so many that are not pinned that what they are staged in is used twice.
   */
  @Test
  void enqueue_inputsOfAnyKind_bringsTheirBytesToTheirPlaces() {
    try (GpuSessions gpu = new GpuSessions(GpuTests.driverOrSkip(), CaptureSettings.NEVER);
        PinnedHostMemory pinned = PinnedHostMemory.allocate(gpu.device.context(), PINNED_BYTES);
        PinnedHostMemory back = PinnedHostMemory.allocate(gpu.device.context(), PINNED_BYTES);
        State state = gpu.device.states().take(PINNED_BYTES);
        StagingBuffer staging = new StagingBuffer(gpu.device.context());
        InputCopier copier = new InputCopier(gpu.device, gpu.region.stream(), staging);
        Arena arena = Arena.ofConfined()) {
      long seed = System.nanoTime();
      Random random = new Random(seed);
      byte[] noise = new byte[PINNED_BYTES];
      random.nextBytes(noise);
      pinned.segment().copyFrom(MemorySegment.ofArray(noise));
      MemorySegment ordinary = arena.allocate(PINNED_BYTES, 64);
      ordinary.copyFrom(MemorySegment.ofArray(noise));
      state.write(pinned.segment());
      List<MemorySegment> sources = List.of(pinned.segment(), ordinary, state.memory());
      for (int round = 0; round < 200; round++) {
        List<InputTensor> inputs = new ArrayList<>();
        Map<String, MemorySegment> expected = new HashMap<>();
        boolean many = round == 0;
        for (int i = many ? 10 : random.nextInt(5); i >= 0; i--) {
          String name = "x" + i;
          MemorySegment source = many ? ordinary : sources.get(random.nextInt(sources.size()));
          long bytes = many ? LARGEST - i : random.nextInt(random.nextBoolean() ? 1000 : LARGEST);
          long begin = random.nextInt(1000) * (random.nextBoolean() ? 64L : 1L);
          expected.put(name, ordinary.asSlice(begin, bytes));
          inputs.add(
              new InputTensor(
                  name,
                  TensorType.INT8,
                  Shape.of(bytes),
                  source.asSlice(begin, bytes),
                  source.equals(state.memory())));
        }
        InputLayout layout = InputLayout.of(inputs);
        long block = gpu.region.allocate(layout.byteSize());
        for (int i = 0; many && i < COPIES_AHEAD; i++) {
          gpu.region.stream().copyToDevice(block, pinned.address(), layout.byteSize());
        }
        copier.enqueue(layout, block, () -> {});
        gpu.region.stream().copyToHost(back.address(), block, layout.byteSize());
        gpu.region.stream().synchronize();
        gpu.region.free(block);
        for (InputLayout.Slot slot : layout.slots()) {
          MemorySegment data = Objects.requireNonNull(expected.get(slot.tensor().name()));
          MemorySegment arrived = back.segment().asSlice(slot.offset(), data.byteSize());
          assertEquals(-1, data.mismatch(arrived), "seed " + seed + ", round " + round);
        }
      }
    }
  }
}
