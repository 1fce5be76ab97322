package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.modelstore.MemorySource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Weights that the processor maps instead of copying them again and again. */
final class ShownWeightsTest extends ShownWeightsFixture {
  private static CpuDevice open(boolean mapsWeights) {
    return CpuDevice.open(
        "cpu", new ByteSize(8L * PAGE), new ByteSize(PAGE), Bandwidth.UNLIMITED, mapsWeights);
  }

  @Test
  void copy_ofAFileForTheThirdTime_isThereAtOnceAndTheSame() throws IOException {
    byte[] content = write("weights", 1);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    makeReady(range, source, content);

    mapPages(device, range);
    assertEquals(BYTES, device.copies().atHand(source, 0, BYTES));
    DeviceEvent arrived = device.copies().copy(source, 0, range, 0, BYTES);

    assertTrue(arrived.isDone());
    assertContent(content, range);
    assertEquals((byte) 0, range.memory().get(JAVA_BYTE, (long) PAGES * PAGE - 1));
    unmapPages(device, range);
  }

  @Test
  void copy_inGroupsThatShareAPage_isShownFromTheFirstOn() throws IOException {
    byte[] content = write("weights", 2);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    makeReady(range, source, content);

    mapPages(device, range);
    int first = PAGE + 512;
    assertTrue(device.copies().copy(source, 0, range, 0, first).isDone());
    assertTrue(device.copies().copy(source, first, range, first, BYTES - first).isDone());

    assertContent(content, range);
    unmapPages(device, range);
  }

  @Test
  void page_thatShowsAFile_keepsItWhereverItIsMapped() throws IOException {
    byte[] content = write("weights", 3);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    AddressRange other = device.reserve(BYTES);
    makeReady(range, source, content);
    bringIn(range, source);

    for (int slot = 0; slot < PAGES; slot++) {
      other.map(slot, range.unmap(slot));
    }
    other.settled(PAGES).await();
    assertContent(content, other);
    try (SessionRanges.Scratch _ = device.sessionRanges().scratch(other.address())) {
      other.memory().fill((byte) 9);
    }
    assertContent(content, other);
    unmapPages(device, other);
  }

  @Test
  void page_thatIsGivenBack_showsNothingToItsNextHolder() throws IOException {
    byte[] content = write("weights", 4);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    makeReady(range, source, content);
    bringIn(range, source);
    unmapPages(device, range);

    BytesSource random = BytesSource.random(BYTES, 5);
    bringIn(range, random);

    assertContent(random.bytes(), range);
    unmapPages(device, range);
    assertArrayEquals(content, Files.readAllBytes(folder.resolve("weights")));
  }

  @Test
  void page_thatMustBeZeroed_isCopiedInto() throws IOException {
    byte[] content = write("weights", 6);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    makeReady(range, source, content);

    for (int slot = 0; slot < PAGES; slot++) {
      range.mapZeroed(slot, device.pages().take().orElseThrow());
    }
    device.copies().copy(source, 0, range, 0, BYTES).await();

    assertContent(content, range);
    assertEquals((byte) 0, range.memory().get(JAVA_BYTE, BYTES));
    unmapPages(device, range);
  }

  @Test
  void copyIntoAPageThatShowsAFile_leavesTheRestAsItIsUnderWhoeverReads() throws IOException {
    byte[] content = write("weights", 7);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    makeReady(range, source, content);
    AtomicBoolean over = new AtomicBoolean();
    for (int round = 0; round < 20; round++) {
      bringIn(range, source);
      over.set(false);
      CompletableFuture<Void> reader =
          CompletableFuture.runAsync(() -> readUntil(over, range, content));

      BytesSource random = BytesSource.random(PAGE / 2, 70 + round);
      device.copies().copy(random, 0, range, 0, PAGE / 2).await();
      over.set(true);
      reader.join();

      byte[] expected = content.clone();
      System.arraycopy(random.bytes(), 0, expected, 0, PAGE / 2);
      assertContent(expected, range);
      unmapPages(device, range);
    }
  }

  /** Reads the second half of the first page, which nobody writes to. */
  private static void readUntil(AtomicBoolean over, AddressRange range, byte[] content) {
    byte[] expected = Arrays.copyOfRange(content, PAGE / 2, PAGE);
    do {
      byte[] found = range.memory().asSlice(PAGE / 2, PAGE / 2).toArray(JAVA_BYTE);
      assertArrayEquals(expected, found);
    } while (!over.get());
  }

  @Test
  void pages_thatShowAFileWhoseMappingHasGone_keepItAndOthersAreNotTakenForIt() throws IOException {
    byte[] content = write("weights", 8);
    AddressRange range = device.reserve(BYTES);
    try (Arena first = Arena.ofShared()) {
      MemorySource source = map("weights", first);
      makeReady(range, source, content);
      bringIn(range, source);
    }
    Files.delete(folder.resolve("weights"));
    byte[] others = write("weights", 9);
    MemorySource other = map("weights", arena);

    assertEquals(0, device.copies().atHand(other, 0, BYTES));
    AddressRange second = device.reserve(BYTES);
    makeReady(second, other, others);
    assertContent(content, range);
    unmapPages(device, range);
  }

  @Test
  void atHand_whereItIsTurnedOffOrTheLinkHasARate_isNothing() throws IOException {
    byte[] content = write("weights", 10);
    MemorySource source = map("weights", arena);
    try (CpuDevice off = open(false);
        CpuDevice slow =
            CpuDevice.open(
                new ByteSize(8L * PAGE), new ByteSize(PAGE), new Bandwidth(1_000_000_000_000L))) {
      for (CpuDevice copying : new CpuDevice[] {off, slow}) {
        AddressRange range = copying.reserve(BYTES);
        for (int i = 0; i < 2; i++) {
          mapPages(copying, range);
          assertEquals(0, copying.copies().atHand(source, 0, BYTES));
          copying.copies().copy(source, 0, range, 0, BYTES).await();
          assertContent(content, range);
          unmapPages(copying, range);
        }
      }
    }
  }
}
