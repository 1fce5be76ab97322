package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceContract;
import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.HeldSource;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.cuda.copy.CudaEvent;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.modelstore.MemorySource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The suite that every device passes, on a GPU, and what is CUDA's own. */
@Tag("gpu")
@SuppressWarnings("NullAway.Init") // open() fills the fields.
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CudaDeviceTest extends DeviceContract {
  private static final long MIB = 1 << 20;
  private static final ByteSize PAGE = ByteSize.ofMebibytes(2);
  private static final ByteSize LARGEST_PAGE = ByteSize.ofMebibytes(1024);

  private CudaDriver driver;

  /** Keeps the device's context alive from test to test: creating it takes long. */
  private CudaContext context;

  @AfterAll
  void closeContext() {
    if (context != null) {
      context.close();
    }
  }

  @Override
  protected Device open() {
    driver = GpuTests.driverOrSkip();
    if (context == null) {
      context = CudaContext.open(driver, 0);
    }
    return CudaDevice.open(driver, 0, new ByteSize(PAGE.bytes() * PAGES + 1), PAGE);
  }

  @Override
  protected byte[] read(AddressRange range, long offset, int bytes) {
    cuda().awaitMappings();
    context.bind();
    try (CudaStream stream = CudaStream.open(context);
        Arena arena = Arena.ofConfined()) {
      MemorySegment host = arena.allocate(bytes);
      stream.copyToHost(host.address(), range.address() + offset, bytes);
      stream.synchronize();
      return host.toArray(ValueLayout.JAVA_BYTE);
    }
  }

  @Test
  void name_tellsTheDevice() {
    assertEquals("cuda:0 " + context.deviceName(), device.name());
  }

  @Test
  void copy_ofPinnedAndUnpinnedMemory_bringsTheSameBytes() {
    AddressRange range = mapped(PAGES);
    int bytes = PAGES * pageBytes - 5;
    BytesSource disk = BytesSource.random(bytes, 11);
    try (Arena arena = Arena.ofShared();
        PinnedHostMemory pinned = PinnedHostMemory.allocate(context, bytes)) {
      MemorySegment plain = arena.allocate(bytes);
      MemorySegment.copy(MemorySegment.ofArray(disk.bytes()), 0, plain, 0, bytes);
      pinned.segment().copyFrom(plain);
      device.copies().copy(new MemorySource(plain), 0, range, 0, bytes).await();
      assertArrayEquals(disk.bytes(), read(range, 0, bytes));
      plain.fill((byte) 0);
      device.copies().copy(new MemorySource(plain), 3, range, 3, bytes - 3L).await();
      device.copies().copy(new MemorySource(pinned.segment()), 1, range, 1, bytes - 1L).await();
      assertArrayEquals(disk.bytes(), read(range, 0, bytes));
    }
  }

  @Test
  void before_onAStream_ordersItsWorkBehindTheCopy() {
    int pages = 128;
    try (CudaDevice large = CudaDevice.open(driver, 0, new ByteSize(PAGE.bytes() * pages), PAGE);
        PinnedHostMemory source = PinnedHostMemory.allocate(context, PAGE.bytes() * pages);
        PinnedHostMemory answer = PinnedHostMemory.allocate(context, 8)) {
      AddressRange range = large.reserve(PAGE.bytes() * pages);
      for (int slot = 0; slot < pages; slot++) {
        range.map(slot, large.pages().take().orElseThrow());
      }
      CudaStream stream = ((CudaEphemeralRegion) large.ephemeral(MIB)).stream();
      for (int round = 1; round <= 10; round++) {
        source.segment().set(ValueLayout.JAVA_LONG, range.byteSize() - 8, round);
        CudaEvent event =
            (CudaEvent)
                large
                    .copies()
                    .copy(new MemorySource(source.segment()), 0, range, 0, range.byteSize());
        large.context().bind();
        event.before(stream);
        stream.copyToHost(answer.address(), range.address() + range.byteSize() - 8, 8);
        stream.synchronize();
        assertEquals(round, answer.segment().get(ValueLayout.JAVA_LONG, 0));
        event.await();
        event.before(stream);
      }
    }
  }

  @Test
  void before_ofACopyThatIsHeld_waitsForItAndThrowsWhatItThrows() throws InterruptedException {
    AddressRange range = mapped(1);
    CudaStream stream = ((CudaEphemeralRegion) cuda().ephemeral(MIB)).stream();
    HeldSource held = HeldSource.holding(10);
    CudaEvent event = (CudaEvent) device.copies().copy(held, 0, range, 0, 10);
    AtomicBoolean passed = new AtomicBoolean();
    Thread waiting =
        Thread.ofPlatform()
            .start(
                () -> {
                  context.bind();
                  event.before(stream);
                  passed.set(true);
                });
    while (waiting.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    assertFalse(passed.get());
    held.release();
    waiting.join();
    assertTrue(passed.get());
    context.bind();
    CudaEvent failed = (CudaEvent) device.copies().copy(HeldSource.failing(10), 0, range, 0, 10);
    assertThrows(StatusException.class, () -> failed.before(stream));
  }

  @Test
  void remap_aThousandTimes_keepsContentAndMemory() {
    AddressRange range = mapped(2);
    BytesSource source = BytesSource.random(2 * pageBytes, 21);
    device.copies().copy(source, 0, range, 0, source.byteSize()).await();
    cuda().awaitMappings();
    long before = context.freeBytes();
    for (int round = 0; round < 1000; round++) {
      Page first = range.unmap(0);
      Page second = range.unmap(1);
      range.map(0, second);
      range.map(1, first);
      if (round % 3 == 0) {
        cuda().awaitMappings();
      }
    }
    assertArrayEquals(source.bytes(), read(range, 0, 2 * pageBytes));
    assertTrue(before - context.freeBytes() < 4 * MIB, "memory went with the remapping");
  }

  @Test
  void ledger_agreesWithTheDriver() {
    try (CudaDevice other = CudaDevice.open(driver, 0, ByteSize.ofMebibytes(2048), PAGE)) {
      EphemeralRegion region = other.ephemeral(4096 * MIB);
      region.limit(1000 * MIB + 1);
      other.persistent().open("owner", 2048 * MIB).allocate(500 * MIB);
      assertEquals((2048 + 1002 + 500) * MIB, other.deviceBytes());
      agrees(other);
      region.limit(100 * MIB);
      assertEquals((2048 + 100 + 500) * MIB, other.deviceBytes());
      agrees(other);
      try (State _ = other.states().take(300 * MIB + 1);
          State _ = other.states().take(4)) {
        assertEquals((2048 + 100 + 500 + 302) * MIB, other.deviceBytes());
        agrees(other);
      }
      assertEquals((2048 + 100 + 500) * MIB, other.deviceBytes());
      agrees(other);
    }
  }

  private static void agrees(CudaDevice other) {
    double driver = other.driverUsedBytes() - other.baselineBytes();
    assertTrue(
        Math.abs(driver - other.deviceBytes()) <= 0.02 * driver,
        driver + " by the driver, " + other.deviceBytes() + " here");
  }

  @Test
  void outOfMemory_atAnyStep_leavesNothing() {
    device.close();
    long before = context.usedBytes();
    ByteSize tooMuch = new ByteSize(context.totalBytes() + 2 * LARGEST_PAGE.bytes());
    StatusException refused =
        assertThrows(
            StatusException.class, () -> CudaDevice.open(driver, 0, tooMuch, LARGEST_PAGE));
    assertEquals(Status.INSUFFICIENT_MEMORY, refused.status());
    near(before);
    long most = context.freeBytes() - LARGEST_PAGE.bytes();
    try (CudaDevice full = CudaDevice.open(driver, 0, new ByteSize(most), LARGEST_PAGE)) {
      long held = full.deviceBytes();
      EphemeralRegion region = full.ephemeral(8192 * MIB);
      StatusException grown = assertThrows(StatusException.class, () -> region.limit(8192 * MIB));
      assertEquals(Status.INSUFFICIENT_MEMORY, grown.status());
      assertEquals(0, region.limitBytes());
      assertEquals(held, full.deviceBytes());
      StatusException kept =
          assertThrows(StatusException.class, () -> full.states().take(8192 * MIB));
      assertEquals(Status.INSUFFICIENT_MEMORY, kept.status());
      assertEquals(held, full.deviceBytes());
      region.limit(100 * MIB);
      assertEquals(0, full.persistent().open("owner", 1L << 40).allocate(8192 * MIB));
    }
    near(before);
  }

  private void near(long before) {
    assertTrue(Math.abs(context.usedBytes() - before) < 64 * MIB, "memory was not given back");
  }

  @Test
  void open_withSizesThatCannotBe_isRefused() {
    for (long page : new long[] {0, MIB, 3 * MIB, 2048 * MIB}) {
      StatusException refused =
          assertThrows(
              StatusException.class,
              () -> CudaDevice.open(driver, 0, new ByteSize(8192 * MIB), new ByteSize(page)));
      assertEquals(Status.INVALID_ARGUMENT, refused.status());
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> CudaDevice.open(driver, driver.deviceCount(), PAGE, PAGE));
  }

  private CudaDevice cuda() {
    return (CudaDevice) device;
  }
}
