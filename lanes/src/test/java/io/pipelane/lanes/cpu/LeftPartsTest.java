package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.modelstore.MemorySource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Parts of files that are left under slots whose pages have gone. */
final class LeftPartsTest extends ShownWeightsFixture {
  /** The system's, counted. */
  private static final class Moves implements TableMoves {
    private final AtomicInteger count = new AtomicInteger();
    private final Queue<Byte> first = new ConcurrentLinkedQueue<>(); // of what each has moved
    private volatile boolean separate;

    @Override
    public boolean moveAt(long address, long bytes, long shared) {
      count.incrementAndGet();
      first.add(MemorySegment.ofAddress(shared).reinterpret(1).get(JAVA_BYTE, 0));
      return SYSTEM.moveAt(address, bytes, shared);
    }

    @Override
    public boolean canMove(long shared, long bytes) {
      return !separate && SYSTEM.canMove(shared, bytes);
    }

    @Override
    public void mapSameAt(long address, long bytes, long shared) {
      SYSTEM.mapSameAt(address, bytes, shared);
    }
  }

  LeftPartsTest() {
    super(new Moves());
  }

  private int moves() {
    return ((Moves) moves).count.get();
  }

  private MemorySource shown(AddressRange range, String name, byte[] content) throws IOException {
    return shown(range, name, content, arena);
  }

  /** A file is known by its lifetime. */
  private MemorySource shown(AddressRange range, String name, byte[] content, Arena lifetime)
      throws IOException {
    MemorySource source = map(name, lifetime);
    show(range, source, content);
    return source;
  }

  @Test
  void fileThatComesBack_isThereWithoutAMove() throws IOException {
    byte[] content = write("weights", 1);
    AddressRange range = device.reserve(BYTES);
    MemorySource source = shown(range, "weights", content);
    int before = moves();

    for (int i = 0; i < 3; i++) {
      unmapPages(device, range);
      assertEquals(0, device.shownPages());
      mapPages(device, range);
      assertTrue(device.copies().copy(source, 0, range, 0, BYTES).isDone());
      assertEquals(PAGES, device.shownPages());
      assertContent(content, range);
    }

    assertEquals(before, moves());
    unmapPages(device, range);
  }

  @Test
  void anotherFileOrACopy_takesThePlaceOfWhatWasLeft() throws IOException {
    byte[] content = write("weights", 2);
    byte[] others = write("others", 3);
    AddressRange range = device.reserve(BYTES);
    MemorySource source = shown(range, "weights", content);
    unmapPages(device, range);

    try (Arena lifetime = Arena.ofShared()) {
      MemorySource other = shown(range, "others", others, lifetime);
      assertContent(others, range);
      unmapPages(device, range);
      bringIn(range, source);
      assertContent(content, range);
      unmapPages(device, range);
      bringIn(range, other);
      assertContent(others, range);
      unmapPages(device, range);
    }

    BytesSource copied = BytesSource.random(BYTES, 4);
    bringIn(range, copied);
    assertContent(copied.bytes(), range);
    unmapPages(device, range);
  }

  @Test
  void partOfWhatWasLeft_isShownBesidePagesWithOtherWeights() throws IOException {
    byte[] content = write("weights", 5);
    AddressRange range = device.reserve(BYTES);
    MemorySource source = shown(range, "weights", content);
    unmapPages(device, range);

    BytesSource first = BytesSource.random(PAGE, 6);
    mapPages(device, range);
    device.copies().copy(first, 0, range, 0, PAGE).await();
    assertTrue(device.copies().copy(source, PAGE, range, PAGE, BYTES - PAGE).isDone());

    System.arraycopy(first.bytes(), 0, content, 0, PAGE);
    assertContent(content, range);
    unmapPages(device, range);
  }

  @Test
  void sessionIsBuilt_whatWasLeftGoesAndComesAgain() throws IOException {
    byte[] content = write("weights", 7);
    AddressRange range = device.reserve(BYTES);
    MemorySource source = shown(range, "weights", content);
    unmapPages(device, range);

    try (SessionRanges.Scratch _ = device.sessionRanges().scratch(range.address())) {
      range.memory().fill((byte) 9);
      bringIn(range, source);
      unmapPages(device, range);
    }

    bringIn(range, source);
    assertContent(content, range);
    unmapPages(device, range);
  }

  @Test
  void sessionIsBuiltAndNothingShownMeanwhile_whatWasLeftIsGone() throws IOException {
    byte[] content = write("weights", 10);
    AddressRange range = device.reserve(BYTES);
    MemorySource source = shown(range, "weights", content);
    unmapPages(device, range);
    int before = moves();

    try (SessionRanges.Scratch _ = device.sessionRanges().scratch(range.address())) {
      range.memory().fill((byte) 9);
    }
    assertEquals(PAGES, moves() - before);

    bringIn(range, source);
    assertEquals(PAGES, device.shownPages());
    assertContent(content, range);
    unmapPages(device, range);
  }

  @Test
  void sessionIsBuilt_filesGoBeforeOtherMemoryComes() throws IOException {
    byte[] content = write("weights", 20);
    AddressRange range = device.reserve(BYTES);
    MemorySource _ = shown(range, "weights", content);
    device.pages().giveBack(range.unmapToGiveBack(1));
    ((Moves) moves).first.clear();

    try (SessionRanges.Scratch _ = device.sessionRanges().scratch(range.address())) {
      List<Byte> moved = List.copyOf(((Moves) moves).first);
      assertEquals(List.of(content[PAGE], content[0], content[2 * PAGE]), moved);
      assertEquals(0, device.leftParts());
      range.memory().fill((byte) 9);
    }

    range.map(1, device.pages().take().orElseThrow());
    unmapPages(device, range);
  }

  @Test
  void rangeIsClosed_nothingIsLeft() throws IOException {
    byte[] content = write("weights", 11);
    AddressRange range = device.reserve(BYTES);
    MemorySource _ = shown(range, "weights", content);
    unmapPages(device, range);
    assertEquals(PAGES, device.leftParts());
    int before = moves();

    range.close();

    assertEquals(PAGES, moves() - before);
    assertEquals(0, device.leftParts());
  }

  @Test
  void otherPageLiesWhereAPartWasLeft_itIsReadAndTheFileIsShownAgain() throws IOException {
    byte[] content = write("weights", 12);
    AddressRange range = device.reserve(BYTES);
    MemorySource source = shown(range, "weights", content);
    unmapPages(device, range);
    int before = moves();

    BytesSource copied = BytesSource.random(BYTES, 13);
    bringIn(range, copied);
    assertEquals(PAGES, moves() - before);
    assertEquals(0, device.leftParts());
    assertContent(copied.bytes(), range);
    unmapPages(device, range);

    bringIn(range, source);
    assertEquals(PAGES, device.shownPages());
    assertContent(content, range);
    unmapPages(device, range);
  }

  @Test
  void pageThatIsKept_takesItsTablesWithIt() throws IOException {
    byte[] content = write("weights", 14);
    AddressRange range = device.reserve(BYTES);
    MemorySource _ = shown(range, "weights", content);
    AddressRange other = device.reserve(BYTES);
    int before = moves();

    for (int slot = 0; slot < PAGES; slot++) {
      other.map(slot, range.unmap(slot));
    }
    other.settled(PAGES).await();

    assertEquals(2 * PAGES, moves() - before, "back, and to the other range");
    assertEquals(0, device.leftParts());
    assertContent(content, other);
    unmapPages(device, other);
  }

  @Test
  void fileThatNobodyCanShow_isNotLeftOnceAnotherIsCopied() throws IOException {
    byte[] content = write("weights", 15);
    byte[] others = write("others", 16);
    AddressRange range = device.reserve(BYTES);
    AddressRange elsewhere = device.reserve(BYTES);
    try (Arena lifetime = Arena.ofShared()) {
      MemorySource _ = shown(range, "weights", content, lifetime);
      unmapPages(device, range);
      copyTwice(elsewhere, map("others", arena), others);
      assertEquals(PAGES, device.leftParts(), "it can be shown still");
    }

    BytesSource copied = BytesSource.random(BYTES, 17);
    bringIn(elsewhere, copied);

    while (device.leftParts() > 0) {
      Thread.onSpinWait();
    }
    assertContent(copied.bytes(), elsewhere);
    unmapPages(device, elsewhere);
  }

  @Test
  void fileThatIsDeletedAndNobodyCanShow_goesWithoutACopyOnceThatIsAskedFor() throws IOException {
    byte[] content = write("weights", 19);
    AddressRange range = device.reserve(BYTES);
    try (Arena lifetime = Arena.ofShared()) {
      MemorySource source = shown(range, "weights", content, lifetime);
      unmapPages(device, range);
      device.dropGone();
      bringIn(range, source);
      unmapPages(device, range);
      assertEquals(PAGES, device.leftParts(), "it can be shown still");
      assertTrue(isMapped("weights"));
    }
    Files.delete(folder.resolve("weights"));

    device.dropGone();

    while (isMapped("weights")) {
      Thread.onSpinWait();
    }
    assertEquals(0, device.leftParts());
  }

  private boolean isMapped(String name) throws IOException {
    return Files.readString(Path.of("/proc/self/maps")).contains(folder.resolve(name).toString());
  }

  @Test
  void partsThatMoveOneByOne_areNotLeft() throws IOException {
    ((Moves) moves).separate = true;
    byte[] content = write("weights", 18);
    AddressRange range = device.reserve(BYTES);
    MemorySource source = shown(range, "weights", content);

    unmapPages(device, range);
    assertEquals(0, device.leftParts());

    bringIn(range, source);
    assertContent(content, range);
    unmapPages(device, range);
  }

  @Test
  void rangeIsClosed_theTablesAreThereForAnother() throws IOException {
    byte[] content = write("weights", 8);
    AddressRange range = device.reserve(BYTES);
    MemorySource source = shown(range, "weights", content);
    unmapPages(device, range);
    range.close();

    AddressRange next = device.reserve(BYTES);
    bringIn(next, source);
    assertEquals(PAGES, device.shownPages());
    assertContent(content, next);
    unmapPages(device, next);
  }

  @Test
  void asManyPartsAreLeftAsThereArePages_othersAreTakenAway() throws IOException {
    byte[] content = write("weights", 9);
    List<AddressRange> ranges = new ArrayList<>();
    List<Arena> lifetimes = new ArrayList<>();
    for (int i = 0; i < 3; i++) { // Nine parts, and eight pages.
      lifetimes.add(Arena.ofShared());
      AddressRange range = device.reserve(BYTES);
      ranges.add(range);
      MemorySource _ = shown(range, "weights", content, lifetimes.getLast());
      int before = moves();
      unmapPages(device, range);
      assertEquals(i < 2 ? 0 : 1, moves() - before);
    }
    assertEquals(8, device.leftParts());
    ranges.forEach(AddressRange::close);
    assertEquals(0, device.leftParts());
    lifetimes.forEach(Arena::close);
  }
}
