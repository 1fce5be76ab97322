package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A processor with room for eight pages, and files of weights that take three. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ShownWeightsFixture {
  static final int PAGE = 2 << 20;
  static final int PAGES = 3;
  static final int BYTES = 2 * PAGE + 12_345;

  @TempDir Path folder;
  final Arena arena = Arena.ofShared();
  final TableMoves moves;
  final TableMoves pagesMoves;
  final CpuDevice device;

  ShownWeightsFixture() {
    this(TableMoves.SYSTEM);
  }

  ShownWeightsFixture(TableMoves moves) {
    this(moves, TableMoves.SYSTEM);
  }

  /**
   * The same where page tables move so.
   *
   * @param moves of files
   * @param pagesMoves of the pages' own memory
   */
  ShownWeightsFixture(TableMoves moves, TableMoves pagesMoves) {
    this.moves = moves;
    this.pagesMoves = pagesMoves;
    this.device = CpuDevice.open(new ByteSize(8L * PAGE), new ByteSize(PAGE), moves, pagesMoves);
  }

  /** Has a new range show a file. */
  AddressRange shown(MemorySource source, byte[] content) {
    AddressRange range = device.reserve(BYTES);
    show(range, source, content);
    return range;
  }

  /** Has a range show a file. */
  void show(AddressRange range, MemorySource source, byte[] content) {
    makeReady(range, source, content);
    bringIn(range, source);
    assertEquals(PAGES, device.shownPages());
  }

  @AfterEach
  void close() {
    device.close();
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }

  /** Has a file be copied twice, which takes pages away again. */
  void copyTwice(AddressRange range, MemorySource source, byte[] content) {
    for (int i = 0; i < 2; i++) {
      bringIn(range, source);
      assertContent(content, range);
      unmapPages(device, range);
    }
  }

  /** Has another file be copied twice, as into a range that is as good as new. */
  void copyOtherTwice(AddressRange range) throws IOException {
    byte[] others = write("others", 100);
    try (Arena lifetime = Arena.ofShared()) { // A file is known by it.
      copyTwice(range, map("others", lifetime), others);
    }
  }

  /** Has a file be copied twice, and waits until it can be shown. */
  void makeReady(AddressRange range, MemorySource source, byte[] content) {
    copyTwice(range, source, content);
    while (device.copies().atHand(source, 0, BYTES) < BYTES) {
      Thread.onSpinWait();
    }
  }

  /** Has new pages hold what a source has. */
  void bringIn(AddressRange range, WeightSource source) {
    mapPages(device, range);
    device.copies().copy(source, 0, range, 0, BYTES).await();
  }

  static void mapPages(CpuDevice device, AddressRange range) {
    for (int slot = 0; slot < PAGES; slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
  }

  static void unmapPages(CpuDevice device, AddressRange range) {
    for (int slot = 0; slot < PAGES; slot++) {
      Page page = range.unmapToGiveBack(slot);
      device.pages().giveBack(page);
    }
  }

  static void assertContent(byte[] expected, AddressRange range) {
    assertArrayEquals(expected, range.memory().asSlice(0, expected.length).toArray(JAVA_BYTE));
  }

  /** That fails where nothing is mapped; to read there ends the process. */
  static void assertMappedAndThere(byte[] content, AddressRange range) {
    assertTrue(LibC.isInMemory(range.address(), (long) PAGES * PAGE));
    assertContent(content, range);
  }

  byte[] write(String name, long seed) throws IOException {
    byte[] content = new byte[BYTES];
    new Random(seed).nextBytes(content);
    Files.write(folder.resolve(name), content);
    return content;
  }

  MemorySource map(String name, Arena lifetime) throws IOException {
    try (FileChannel channel = FileChannel.open(folder.resolve(name))) {
      MemorySegment memory =
          channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), lifetime);
      return new MemorySource(memory);
    }
  }
}
