package io.pipelane.lanes.execution;

import static io.pipelane.lanes.EphemeralRegion.ALIGNMENT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.AllocationSizes.Purpose;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DeviceMemoryTest {
  private static final long MIB = 1 << 20;

  private final Device device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final EphemeralRegion region = device.ephemeral(MIB);
  private final PersistentMemory.Account account = device.persistent().open("test", MIB);

  DeviceMemoryTest() {
    memory.add(region);
    region.limit(MIB);
  }

  @AfterEach
  void close() {
    device.close();
  }

  @Test
  void allocate_withoutTarget_isChargedToThePersistentMemory() {
    long address = memory.allocate(100);
    assertEquals(ALIGNMENT, device.persistent().usedBytes());
    memory.free(address);
    assertEquals(0, device.persistent().usedBytes());
  }

  @Test
  void sizes_countWhatIsAllocated_byPurposeAndPowerOfTwo() {
    memory.allocate(256);
    memory.allocatingFrom(new MemoryTarget.Persistent(account), () -> memory.allocate(257));
    MemoryTarget lane = new MemoryTarget.Ephemeral(region, bytes -> false);
    memory.allocatingFrom(
        lane, () -> memory.allocate(0) + memory.allocate(1) + memory.allocate(MIB + 1));
    memory.allocatingFrom(lane, () -> memory.allocate(300) + memory.allocate(512));
    assertEquals(Map.of(256L, 1L), sizes(Purpose.FRAMEWORK));
    assertEquals(Map.of(512L, 1L), sizes(Purpose.SESSION));
    assertEquals(Map.of(1L, 2L, 512L, 2L), sizes(Purpose.RUN), "what was refused does not count");
  }

  private Map<Long, Long> sizes(Purpose purpose) {
    List<Long> counts = memory.sizes().counts(purpose);
    return IntStream.range(0, counts.size())
        .filter(each -> counts.get(each) > 0)
        .boxed()
        .collect(Collectors.toMap(AllocationSizes::largestBytes, counts::get));
  }

  @Test
  void allocate_targetBelongsToTheThread_freesComeFromAnyOther() throws Exception {
    MemoryTarget lane = new MemoryTarget.Ephemeral(region, bytes -> false);
    MemoryTarget constants = new MemoryTarget.Persistent(account);
    try (ExecutorService other = Executors.newSingleThreadExecutor()) {
      long inLane =
          memory.allocatingFrom(
              lane,
              () -> {
                long elsewhere =
                    get(other, () -> memory.allocatingFrom(constants, () -> take(ALIGNMENT)));
                assertEquals(ALIGNMENT, account.usedBytes());
                memory.free(elsewhere);
                assertEquals(0, account.usedBytes());
                return take(ALIGNMENT);
              });
      assertEquals(ALIGNMENT, region.usedBytes());
      other.submit(() -> memory.free(inLane)).get();
      assertEquals(0, region.usedBytes());
    }
  }

  private long take(long bytes) {
    long address = memory.allocate(bytes);
    assertNotEquals(0, address);
    return address;
  }

  private static long get(ExecutorService thread, java.util.concurrent.Callable<Long> work) {
    try {
      return thread.submit(work).get();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void allocatingFrom_nested_returnsToTheOuterTarget() {
    memory.allocatingFrom(
        new MemoryTarget.Persistent(account),
        () -> {
          memory.allocatingFrom(
              new MemoryTarget.Ephemeral(region, bytes -> false), () -> take(ALIGNMENT));
          return take(2 * ALIGNMENT);
        });
    assertEquals(ALIGNMENT, region.usedBytes());
    assertEquals(2 * ALIGNMENT, account.usedBytes());
  }

  @Test
  void allocatingFrom_refusedThenFailing_namesTheLargestRefusal() {
    account.limit(100);
    IllegalStateException cause = new IllegalStateException("no memory");
    OutOfDeviceMemoryException error =
        assertThrows(
            OutOfDeviceMemoryException.class,
            () ->
                memory.allocatingFrom(
                    new MemoryTarget.Persistent(account),
                    () -> {
                      assertEquals(0, memory.allocate(200));
                      assertEquals(0, memory.allocate(150));
                      throw cause;
                    }));
    assertEquals(200, error.refusedBytes());
    assertSame(cause, error.getCause());
  }

  @Test
  void allocatingFrom_failingForAnotherReason_throwsThat() {
    IllegalStateException cause = new IllegalStateException("other");
    assertSame(
        cause,
        assertThrows(
            IllegalStateException.class,
            () ->
                memory.allocatingFrom(
                    new MemoryTarget.Persistent(account),
                    () -> {
                      throw cause;
                    })));
  }

  @Test
  void allocate_regionIsFull_growsUntilItFitsOrIsRefused() {
    region.limit(0);
    MemoryTarget growing =
        new MemoryTarget.Ephemeral(
            region,
            bytes -> {
              boolean room = region.limitBytes() < 4096;
              region.limit(region.limitBytes() + (room ? 1024 : 0));
              return room;
            });
    assertNotEquals(0, growing.allocate(4096));
    assertEquals(0, growing.allocate(1));
  }

  @Test
  void free_unknownAddress_isAnError() {
    assertThrows(IllegalArgumentException.class, () -> memory.free(64));
  }
}
