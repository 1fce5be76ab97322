package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceContract;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.HeldMemory;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.host.HostMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CpuDeviceTest extends DeviceContract {
  private static final ByteSize PAGE = new ByteSize(64 << 10);
  private static final long MIB = 1 << 20;

  @Override
  protected Device open() {
    return CpuDevice.open(new ByteSize(PAGE.bytes() * PAGES + 1), PAGE, Bandwidth.UNLIMITED);
  }

  @Override
  protected byte[] read(AddressRange range, long offset, int bytes) {
    range.settled(range.slots()).await();
    return range.memory().asSlice(offset, bytes).toArray(ValueLayout.JAVA_BYTE);
  }

  @Test
  void scratch_isWrittenTo_pagesKeepWhatIsCopiedMeanwhile() {
    try (CpuDevice device = (CpuDevice) open()) {
      AddressRange range = device.reserve(PAGE.bytes() * 3);
      range.map(0, device.pages().take().orElseThrow());
      range.map(1, device.pages().take().orElseThrow());
      BytesSource source = BytesSource.random((int) PAGE.bytes() * 3, 7);
      device.copies().copy(source, 0, range, 0, PAGE.bytes()).await();
      try (SessionRanges.Scratch _ = device.rangeAt(range.address()).scratch()) {
        range.memory().fill((byte) 1);
        device.copies().copy(source, PAGE.bytes(), range, PAGE.bytes(), PAGE.bytes()).await();
        range.map(2, device.pages().take().orElseThrow());
        device
            .copies()
            .copy(source, 2 * PAGE.bytes(), range, 2 * PAGE.bytes(), PAGE.bytes())
            .await();
        device.pages().giveBack(range.unmap(0));
        range.memory().fill((byte) 2);
      }
      MemorySegment expected = Arena.ofAuto().allocate(PAGE.bytes() * 2);
      source.read(PAGE.bytes(), expected);
      assertEquals(-1, expected.mismatch(range.memory().asSlice(PAGE.bytes())));
    }
  }

  @Test
  void map_leavesTheWorkToTheFirstCopy() throws IOException {
    AddressRange range = device.reserve(PAGE.bytes() * 2);
    range.map(0, device.pages().take().orElseThrow());
    range.map(1, device.pages().take().orElseThrow());
    BytesSource source = BytesSource.random(100, 3);
    device.copies().copy(source, 0, range, 0, 100).await();
    assertTrue(isPopulated(range.address(), PAGE.bytes()));
    assertFalse(isPopulated(range.address() + PAGE.bytes(), PAGE.bytes()));
    range.unmap(1); // It never lay there.
    range.settled(2).await();
    assertFalse(isPopulated(range.address() + PAGE.bytes(), PAGE.bytes()));
  }

  @Test
  void map_ofAPage_bringsItsPageTables() throws IOException {
    AddressRange one = device.reserve(PAGE.bytes() * 2);
    AddressRange other = device.reserve(PAGE.bytes());
    Page first = device.pages().take().orElseThrow();
    Page second = device.pages().take().orElseThrow();
    for (int round = 0; round < 3; round++) {
      one.map(0, second);
      one.map(1, first);
      one.settled(2).await();
      assertTrue(isPopulated(one.address(), 2 * PAGE.bytes()));
      one.unmap(0);
      one.unmap(1);
      other.map(0, first);
      other.settled(1).await();
      assertTrue(isPopulated(other.address(), PAGE.bytes()));
      assertFalse(isPopulated(one.address(), LibC.SYSTEM_PAGE_BYTES));
      other.unmap(0);
    }
  }

  /** Whether touching a stretch of addresses is without page faults. */
  private static boolean isPopulated(long address, long bytes) throws IOException {
    try (FileChannel pagemap = FileChannel.open(Path.of("/proc/self/pagemap"))) {
      ByteBuffer entries = ByteBuffer.allocate((int) (bytes / LibC.SYSTEM_PAGE_BYTES) * Long.BYTES);
      entries.order(ByteOrder.nativeOrder());
      while (entries.hasRemaining()) {
        int count =
            pagemap.read(
                entries, address / LibC.SYSTEM_PAGE_BYTES * Long.BYTES + entries.position());
        assertTrue(count > 0);
      }
      entries.flip();
      boolean populated = true;
      while (entries.hasRemaining()) {
        populated &= entries.getLong() < 0; // The highest bit says that the page is present.
      }
      return populated;
    }
  }

  @Test
  void window_showsOneFileAfterAnother_atTheSameAddresses(@TempDir Path folder) throws IOException {
    long bytes = 3 * LibC.SYSTEM_PAGE_BYTES + 5;
    AddressRange range = device.reserve(PAGE.bytes() * 2, bytes);
    assertEquals(PAGE.bytes() * 2, range.memory().byteSize());
    assertEquals(range.address() + range.byteSize(), range.windowAddress());
    MemorySegment window = memory(range.windowAddress(), bytes);
    for (int round = 1; round <= 3; round++) {
      Path file = folder.resolve("table" + round);
      byte[] content = new byte[(int) bytes];
      new Random(round).nextBytes(content);
      Files.write(file, content);
      try (HostMemory.Loaded loaded = HostMemory.PAGE_CACHE.load(file)) {
        range.show(loaded);
      }
      Files.delete(file);
      assertArrayEquals(content, window.toArray(ValueLayout.JAVA_BYTE));
      assertTrue(protection(range.windowAddress()).startsWith("r--"));
    }
    range.hide();
    assertTrue(protection(range.windowAddress()).startsWith("---"));
    MemorySegment tooShort = Arena.ofAuto().allocate(bytes - 1);
    assertThrows(IllegalArgumentException.class, () -> range.show(new HeldMemory(tooShort)));
    range.close();
    assertThrows(UnsupportedOperationException.class, () -> device.reserve(1).windowAddress());
    assertFalse(device.windowsShowPages(), "a table in host memory is nowhere nearer");
    assertThrows(UnsupportedOperationException.class, () -> range.showPages(device.reserve(bytes)));
  }

  @Test
  void show_ofMemoryThatIsNoFile_isRefusedAndLeavesTheWindowReserved() {
    AddressRange range = device.reserve(1, LibC.SYSTEM_PAGE_BYTES);
    MemorySegment heap = Arena.ofAuto().allocate(LibC.SYSTEM_PAGE_BYTES, LibC.SYSTEM_PAGE_BYTES);
    assertThrows(StatusException.class, () -> range.show(new HeldMemory(heap)));
    assertTrue(protection(range.windowAddress()).startsWith("---"));
  }

  /** What may be done at an address, e.g. {@code r--s}. */
  private static String protection(long address) {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
        String[] columns = line.split(" ", 3);
        String[] ends = columns[0].split("-", 2);
        if (Long.parseUnsignedLong(ends[0], 16) <= address
            && address < Long.parseUnsignedLong(ends[1], 16)) {
          return columns[1];
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return "not mapped";
  }

  @Test
  void close_givesEverythingBack() throws IOException {
    int regionsBefore = 0;
    for (int round = 0; round < 20; round++) {
      Device other = open();
      AddressRange range = other.reserve(PAGE.bytes() * PAGES);
      for (int slot = 0; slot < PAGES; slot += 2) {
        range.map(slot, other.pages().take().orElseThrow());
      }
      other.copies().copy(BytesSource.random(100, 1), 0, range, 0, 100).await();
      other.ephemeral(MIB).limit(MIB);
      for (int i = 0; i < 10; i++) {
        other.persistent().open("owner" + i, MIB).allocate(MIB);
      }
      assertTrue(memfdMappings() > 2, "this device's pages are seen in the maps");
      other.close();
      other.close();
      assertThrows(IllegalStateException.class, () -> other.reserve(1));
      assertThrows(IllegalStateException.class, () -> range.memory().get(ValueLayout.JAVA_BYTE, 0));
      if (round == 9) {
        regionsBefore = mappings();
      }
    }
    // Ten more devices leave no mapping; the JVM itself may add a few (heap, code, threads).
    assertTrue(mappings() - regionsBefore < 10, "mappings " + regionsBefore + ", " + mappings());
    assertEquals(2, memfdMappings(), "only window and parking of the test's own device are left");
    assertEquals(1, memfdDescriptors());
    device.close();
    assertEquals(0, memfdMappings());
    assertEquals(0, memfdDescriptors());
    assertFalse(
        Thread.getAllStackTraces().keySet().stream()
            .anyMatch(thread -> thread.getName().equals("pipelane-cpu-copies")));
  }

  @Test
  void limit_lowered_givesMemoryBackToTheSystem() throws IOException {
    EphemeralRegion region = device.ephemeral(64 * MIB);
    region.limit(64 * MIB);
    long address = region.allocate(64 * MIB);
    long before = residentBytes();
    memory(address, 64 * MIB).fill((byte) 1);
    long full = residentBytes();
    assertTrue(full - before > 50 * MIB, before + ", " + full);
    region.free(address);
    region.limit(MIB);
    assertTrue(residentBytes() < full - 50 * MIB, full + ", " + residentBytes());
    region.limit(64 * MIB);
    assertEquals(0, memory(address, 64 * MIB).get(ValueLayout.JAVA_BYTE, 2 * MIB));
  }

  @Test
  void memory_ofPersistentAllocations_canBeWritten() {
    var account = device.persistent().open("owner", 10 * MIB);
    for (long bytes : new long[] {1, 64, 5000, 300_000, MIB}) {
      memory(account.allocate(bytes), bytes).fill((byte) 7);
    }
  }

  @Test
  void copy_overASlowLink_takesItsTime() {
    // 512 KiB at 100 MB/s take 5.2 ms; how exact that is LinkThrottleTest tells with its own clock.
    try (Device slow =
        CpuDevice.open(new ByteSize(MIB), PAGE, new Bandwidth(100_000_000), LinkClock.SYSTEM)) {
      AddressRange range = slow.reserve(512 << 10);
      for (int slot = 0; slot < range.slots(); slot++) {
        range.map(slot, slow.pages().take().orElseThrow());
      }
      BytesSource source = BytesSource.random(512 << 10, 5);
      long begin = System.nanoTime();
      slow.copies().copy(source, 0, range, 0, source.byteSize()).await();
      assertTrue(System.nanoTime() - begin >= 5_240_000);
    }
  }

  @Test
  void open_withSizesThatCannotBe_isRefused() {
    for (long page : new long[] {0, 1, 2048, 5000, 12288, 2L << 30}) {
      refused(new ByteSize(MIB), new ByteSize(page));
    }
    refused(new ByteSize(PAGE.bytes() - 1), PAGE);
    refused(new ByteSize(1L << 62), new ByteSize(4096));
  }

  @Test
  void failedCall_namesCallArgumentsAndError() {
    StatusException full = assertThrows(StatusException.class, () -> LibC.mapNothing(1L << 60));
    assertEquals(Status.INSUFFICIENT_MEMORY, full.status());
    assertTrue(String.valueOf(full.getMessage()).startsWith("mmap(0x0, 1152921504606846976, 0"));
    assertTrue(String.valueOf(full.getMessage()).contains("ENOMEM"));
    StatusException bad = assertThrows(StatusException.class, () -> LibC.ftruncate(-1, 5));
    assertEquals("ftruncate(-1, 5) failed: EBADF", bad.getMessage());
    assertEquals(Status.INTERNAL, bad.status());
    assertThrows(IllegalArgumentException.class, () -> device.reserve(-5));
    assertThrows(StatusException.class, () -> device.ephemeral(1L << 60));
  }

  private static void refused(ByteSize memory, ByteSize page) {
    StatusException refused =
        assertThrows(
            StatusException.class, () -> CpuDevice.open(memory, page, Bandwidth.UNLIMITED));
    assertEquals(Status.INVALID_ARGUMENT, refused.status());
  }

  private static MemorySegment memory(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  private static int mappings() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/maps")).size();
  }

  private static long memfdMappings() throws IOException {
    List<String> maps = Files.readAllLines(Path.of("/proc/self/maps"));
    return maps.stream().filter(line -> line.contains("memfd:pipelane-device")).count();
  }

  private static long memfdDescriptors() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.filter(CpuDeviceTest::isMemfd).count();
    }
  }

  private static boolean isMemfd(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().contains("memfd:pipelane-device");
    } catch (IOException e) {
      return false;
    }
  }

  private static long residentBytes() throws IOException {
    String pages = Files.readString(Path.of("/proc/self/statm")).split(" ", 3)[1];
    return Long.parseLong(pages) * LibC.SYSTEM_PAGE_BYTES;
  }
}
