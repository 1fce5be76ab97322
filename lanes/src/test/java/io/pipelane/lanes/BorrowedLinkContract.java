package io.pipelane.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.WeightSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What two devices of every kind do when one's weights come in over the other's link too, or out of
 * its pages.
 */
@Timeout(60)
public abstract class BorrowedLinkContract {
  private static final int PAGES = 24;
  private static final int ROUNDS = 20;

  protected Device receiver;
  protected Device lender;
  private int pageBytes;
  private byte[] bytes;
  private WeightSource source;

  /**
   * Opens one of three devices, with so many pages of 2 MiB, more or less; a third is seldom there.
   */
  protected abstract Device open(int index, int pages);

  /** Weights that the devices read at their links' rates; stay until the test's end. */
  protected abstract WeightSource source(byte[] bytes);

  /** Reads bytes from mapped slots of a device back to the host. */
  protected abstract byte[] read(Device device, AddressRange range, long offset, int bytes);

  @BeforeEach
  void openDevices() {
    receiver = open(0, PAGES);
    lender = open(1, PAGES);
    assertTrue(receiver.borrowLink(lender));
    pageBytes = Math.toIntExact(receiver.pages().pageBytes());
    bytes = BytesSource.random(PAGES * pageBytes, 3).bytes();
    source = source(bytes);
  }

  @AfterEach
  void closeDevices() {
    if (receiver != null) { // An opening that was skipped leaves none.
      receiver.close();
    }
    if (lender != null) {
      lender.close();
    }
  }

  @Test
  void copy_overTwoLinks_bringsTheSameBytes() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    AddressRange range = mapped(receiver);
    // On a busy machine the lender's thread may come too late again and again.
    for (int round = 0; round < ROUNDS || receiver.copies().borrowedBytes() == 0; round++) {
      int offset = random.nextInt(bytes.length / 2);
      int length = random.nextInt(bytes.length - offset);
      receiver.copies().copy(source, offset, range, offset, length).await();
      assertHas(receiver, range, offset, length, "seed " + seed + ", round " + round);
    }
    assertEquals(0, lender.copies().borrowedBytes());
  }

  @Test
  void copies_ofAllSizes_endInTheirOrder() throws InterruptedException {
    AddressRange range = mapped(receiver);
    List<Integer> order = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch all = new CountDownLatch(ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
      int number = i;
      long length = i % 2 == 0 ? 3L * pageBytes : 1000;
      receiver
          .copies()
          .copy(source, 0, range, 0, length)
          .whenDone(
              () -> {
                order.add(number);
                all.countDown();
              });
    }
    all.await();
    assertEquals(IntStream.range(0, ROUNDS).boxed().toList(), order);
  }

  @Test
  void lenderWithCopiesOfItsOwn_isNotBorrowed() throws InterruptedException {
    AddressRange range = mapped(receiver);
    AddressRange others = mapped(lender);
    HeldSource held = HeldSource.holding(1);
    DeviceEvent own = lender.copies().copy(held, 0, others, 0, 1);
    held.awaitReached();
    receiver.copies().copy(source, 0, range, 0, bytes.length).await();
    assertEquals(0, receiver.copies().borrowedBytes());
    held.release();
    own.await();
    assertHas(receiver, range, 0, bytes.length, "over its own link");
  }

  @Test
  void lenderThatSaysNo_isNotBorrowed() {
    AddressRange range = mapped(receiver);
    lender.lendLinkWhile(() -> false);
    receiver.copies().copy(source, 0, range, 0, bytes.length).await();
    assertEquals(0, receiver.copies().borrowedBytes());
    lender.lendLinkWhile(() -> true);
    copyUntilBorrowed(range, "at last");
  }

  @Test
  void twoLenders_bothCarry_andOneAloneOnceTheOtherIsClosed() {
    try (Device second = open(2, PAGES)) {
      assertTrue(receiver.borrowLink(second));
      AddressRange range = mapped(receiver);
      lender.lendLinkWhile(() -> false);
      copyUntilBorrowed(range, "over the second lender's link");
      lender.lendLinkWhile(() -> true);
      second.lendLinkWhile(() -> false);
      copyUntilBorrowed(range, "over the first lender's link");
      second.lendLinkWhile(() -> true);
      copyUntilBorrowed(range, "over three links");
      lender.close();
      copyUntilBorrowed(range, "the first lender is closed");
    }
  }

  /** Brings all bytes in, again and again until a link has been borrowed for some of them. */
  private void copyUntilBorrowed(AddressRange range, String when) {
    long before = receiver.copies().borrowedBytes();
    while (receiver.copies().borrowedBytes() == before) {
      receiver.copies().copy(source, 0, range, 0, bytes.length).await();
    }
    assertHas(receiver, range, 0, bytes.length, when);
  }

  @Test
  void lenderThatIsClosedMeanwhile_losesNothing() {
    AddressRange range = mapped(receiver);
    List<DeviceEvent> events = new ArrayList<>();
    for (int i = 0; i < ROUNDS; i++) {
      events.add(receiver.copies().copy(source, 0, range, 0, bytes.length));
    }
    events.getFirst().await();
    lender.close();
    events.forEach(DeviceEvent::await);
    assertHas(receiver, range, 0, bytes.length, "the lender is closed");
  }

  @Test
  void receiverThatIsClosedMeanwhile_leavesTheLenderAlone() {
    AddressRange range = mapped(receiver);
    AddressRange others = mapped(lender);
    List<DeviceEvent> events = new ArrayList<>();
    for (int i = 0; i < 4 * ROUNDS; i++) {
      events.add(receiver.copies().copy(source, 0, range, 0, bytes.length));
    }
    events.getFirst().await();
    receiver.close();
    StatusException reason = assertThrows(StatusException.class, events.getLast()::await);
    assertEquals(Status.UNAVAILABLE, reason.status());
    lender.copies().copy(source, 0, others, 0, bytes.length).await();
    assertHas(lender, others, 0, bytes.length, "the receiver is closed");
  }

  @Test
  void devicesThatBorrowFromEachOther_bothHaveTheirBytes() {
    assertTrue(lender.borrowLink(receiver));
    AddressRange range = mapped(receiver);
    AddressRange others = mapped(lender);
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    List<DeviceEvent> events = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      int length = random.nextInt(bytes.length);
      boolean first = random.nextBoolean();
      Device device = first ? receiver : lender;
      events.add(device.copies().copy(source, 0, first ? range : others, 0, length));
      if (random.nextInt(3) == 0) {
        events.getLast().await();
      }
    }
    events.add(receiver.copies().copy(source, 0, range, 0, bytes.length));
    events.add(lender.copies().copy(source, 0, others, 0, bytes.length));
    events.forEach(DeviceEvent::await);
    assertHas(receiver, range, 0, bytes.length, "seed " + seed);
    assertHas(lender, others, 0, bytes.length, "seed " + seed);
  }

  @Test
  void copyThatFails_failsAloneAndLeavesTheLinksAlone() {
    AddressRange range = mapped(receiver);
    DeviceEvent failed =
        receiver.copies().copy(HeldSource.failing(bytes.length), 0, range, 0, bytes.length);
    DeviceEvent after = receiver.copies().copy(source, 0, range, 0, bytes.length);
    assertThrows(StatusException.class, failed::await);
    after.await();
    assertHas(receiver, range, 0, bytes.length, "after a failure");
    while (receiver.copies().borrowedBytes() == 0) { // The lender was not to blame.
      receiver.copies().copy(source, 0, range, 0, bytes.length).await();
    }
  }

  @Test
  void borrowLink_fromItself_isRefused() {
    assertFalse(receiver.borrowLink(receiver));
  }

  /** Fills all of the lender's pages, in an order of their own, and leaves them under no slot. */
  private List<Page> filledPages(long seed) {
    List<Page> pages = new ArrayList<>();
    while (lender.pages().free() > 0) {
      pages.add(lender.pages().take().orElseThrow());
    }
    Collections.shuffle(pages, new Random(seed));
    try (AddressRange range = lender.reserve(bytes.length)) {
      for (int slot = 0; slot < PAGES; slot++) {
        range.map(slot, pages.get(slot));
      }
      lender.copies().copy(source, 0, range, 0, bytes.length).await();
      for (int slot = 0; slot < PAGES; slot++) {
        range.unmap(slot);
      }
    }
    return pages;
  }

  @Test
  void copy_outOfTheOthersPages_bringsTheSameBytesPastAllLinks() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    PeerPages there = receiver.readsPagesOf(lender).orElseThrow();
    AddressRange range = mapped(receiver);
    AtomicInteger closed = new AtomicInteger();
    long all = 0;
    WeightSource weights = there.weights(filledPages(seed), bytes.length, closed::incrementAndGet);
    assertEquals(bytes.length, weights.byteSize());
    for (int round = 0; round < ROUNDS; round++) {
      int offset = random.nextInt(bytes.length / 2);
      int length = random.nextInt(bytes.length - offset);
      receiver.copies().copy(weights, offset, range, offset, length).await();
      assertHas(receiver, range, offset, length, "seed " + seed + ", round " + round);
      all += length;
    }
    assertEquals(0, closed.get());
    weights.close();
    weights.close();
    assertEquals(1, closed.get());
    assertEquals(all, receiver.copies().peerBytes());
    assertEquals(0, receiver.copies().borrowedBytes());
  }

  @Test
  void copy_outOfPagesThatAreLentNoLonger_failsAlone() {
    PeerPages there = receiver.readsPagesOf(lender).orElseThrow();
    AddressRange range = mapped(receiver);
    WeightSource weights = there.weights(filledPages(1), bytes.length, () -> {});
    weights.close();
    DeviceEvent failed = receiver.copies().copy(weights, 0, range, 0, 1000);
    assertThrows(StatusException.class, failed::await);
    receiver.copies().copy(source, 0, range, 0, bytes.length).await();
    assertHas(receiver, range, 0, bytes.length, "after a failure");
  }

  @Test
  void weights_ofMoreThanThePagesHold_areRefused() {
    PeerPages there = receiver.readsPagesOf(lender).orElseThrow();
    List<Page> pages = filledPages(1);
    assertThrows(
        IllegalArgumentException.class, () -> there.weights(pages, bytes.length + 1, () -> {}));
  }

  @Test
  void readsPagesOf_itself_isRefused() {
    assertTrue(receiver.readsPagesOf(receiver).isEmpty());
  }

  /** A range of a device with all its pages under it. */
  protected AddressRange mapped(Device device) {
    AddressRange range = device.reserve((long) PAGES * pageBytes);
    for (int slot = 0; slot < PAGES; slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    return range;
  }

  private void assertHas(Device device, AddressRange range, int offset, int length, String when) {
    byte[] found = read(device, range, offset, length);
    assertEquals(-1, Arrays.mismatch(found, 0, length, bytes, offset, offset + length), when);
  }
}
