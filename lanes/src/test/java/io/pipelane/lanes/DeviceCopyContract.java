package io.pipelane.lanes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What every device does with copies and their events, besides {@link DevicePageContract}. */
public abstract class DeviceCopyContract extends DevicePageContract {
  @Test
  void copy_ofAStretch_touchesNothingBesides() {
    AddressRange range = mapped(2);
    BytesSource before = BytesSource.random(2 * pageBytes, 1);
    BytesSource source = BytesSource.random(3000, 2);
    device.copies().copy(before, 0, range, 0, before.byteSize()).await();
    device.copies().copy(source, 100, range, pageBytes - 1000L, 2000).await();
    byte[] expected = before.bytes().clone();
    System.arraycopy(source.bytes(), 100, expected, pageBytes - 1000, 2000);
    assertArrayEquals(expected, read(range, 0, expected.length));
  }

  @Test
  void map_ofAPageThatHadContent_keepsIt() {
    BytesSource former = BytesSource.random(pageBytes, 4);
    AddressRange range = device.reserve(pageBytes);
    range.map(0, pageWith(former));
    range.settled(1).await();
    assertArrayEquals(former.bytes(), read(range, 0, pageBytes));
  }

  @Test
  void mapZeroed_ofAPageThatHadContent_leavesZeroesWhereNoCopyGoes() {
    AddressRange range = device.reserve(2L * pageBytes);
    Page page = pageWith(BytesSource.random(pageBytes, 4));
    assertThrows(IndexOutOfBoundsException.class, () -> range.mapZeroed(2, page));
    range.mapZeroed(1, page);
    range.settled(2).await();
    assertArrayEquals(new byte[pageBytes], read(range, pageBytes, pageBytes));
    assertThrows(IllegalStateException.class, () -> range.mapZeroed(1, page));
    range.unmap(1);
    range.mapZeroed(0, page);
    BytesSource source = BytesSource.random(100, 5);
    device.copies().copy(source, 0, range, 50, 100).await();
    byte[] expected = new byte[pageBytes];
    System.arraycopy(source.bytes(), 0, expected, 50, 100);
    assertArrayEquals(expected, read(range, 0, pageBytes));
  }

  @Test
  void mapZeroed_underTheSlotWhereThePageWas_zeroesIt() {
    AddressRange range = mapped(1);
    BytesSource former = BytesSource.random(pageBytes, 6);
    device.copies().copy(former, 0, range, 0, pageBytes).await();
    range.mapZeroed(0, range.unmap(0));
    range.settled(1).await();
    assertArrayEquals(new byte[pageBytes], read(range, 0, pageBytes));
  }

  /** A page that lies nowhere. */
  private Page pageWith(BytesSource content) {
    AddressRange elsewhere = mapped(1);
    device.copies().copy(content, 0, elsewhere, 0, content.byteSize()).await();
    return elsewhere.unmap(0);
  }

  @Test
  void copy_manyTimes_completesInTheOrderGiven() throws InterruptedException {
    AddressRange range = mapped(1);
    HeldSource held = HeldSource.holding(1);
    device.copies().copy(held, 0, range, 0, 1);
    List<Integer> order = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch all = new CountDownLatch(50);
    List<DeviceEvent> events = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      int number = i;
      BytesSource source = new BytesSource(new byte[] {(byte) i, (byte) i});
      DeviceEvent event = device.copies().copy(source, 0, range, i, i % 3);
      event.whenDone(
          () -> {
            order.add(number);
            all.countDown();
          });
      events.add(event);
    }
    assertTrue(events.stream().noneMatch(DeviceEvent::isDone));
    held.release();
    all.await();
    assertEquals(IntStream.range(0, 50).boxed().toList(), order);
  }

  @Test
  void copy_whoseSourceFails_failsAlone() {
    AddressRange range = mapped(1);
    BytesSource source = BytesSource.random(pageBytes, 3);
    DeviceEvent before = device.copies().copy(source, 0, range, 0, 1000);
    DeviceEvent failed = device.copies().copy(HeldSource.failing(10), 0, range, 0, 10);
    DeviceEvent after = device.copies().copy(source, 1000, range, 1000, pageBytes - 1000L);
    before.await();
    StatusException reason = assertThrows(StatusException.class, failed::await);
    assertEquals(Status.INTERNAL, reason.status());
    assertTrue(String.valueOf(reason.getMessage()).contains("the disk is gone"));
    assertThrows(StatusException.class, failed::await);
    after.await();
    assertArrayEquals(slice(source, 1000, pageBytes - 1000), read(range, 1000, pageBytes - 1000));
  }

  @Test
  void copy_badly_throwsAndPinsNothing() {
    AddressRange range = device.reserve(2L * pageBytes);
    Page page = page();
    range.map(0, page);
    BytesSource source = BytesSource.random(2 * pageBytes, 4);
    CopyEngine copies = device.copies();
    assertThrows(
        IllegalStateException.class, () -> copies.copy(source, 0, range, 0, pageBytes + 1L));
    assertThrows(
        IndexOutOfBoundsException.class, () -> copies.copy(source, 1, range, 0, 2L * pageBytes));
    assertThrows(
        IndexOutOfBoundsException.class, () -> copies.copy(source, 0, range, 2L * pageBytes, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> copies.copy(source, 0, range, 0, -1));
    assertThrows(IndexOutOfBoundsException.class, () -> copies.copy(source, 0, range, -1, 1));
    assertEquals(page, range.unmap(0));
  }

  @Test
  void unmap_underACopyInFlight_throwsUntilItIsDone() throws InterruptedException {
    AddressRange range = mapped(2);
    HeldSource held = HeldSource.holding(10);
    DeviceEvent event = device.copies().copy(held, 0, range, 0, 10);
    held.awaitReached();
    assertThrows(IllegalStateException.class, () -> range.unmap(0));
    range.unmap(1);
    held.release();
    event.await();
    range.unmap(0);
  }

  @Test
  void await_beforeAndAfterTheEvent_returns() throws InterruptedException {
    AddressRange range = mapped(1);
    HeldSource held = HeldSource.holding(1);
    DeviceEvent event = device.copies().copy(held, 0, range, 0, 1);
    List<Thread> waiting =
        IntStream.range(0, 3).mapToObj(i -> Thread.ofPlatform().start(event::await)).toList();
    for (Thread thread : waiting) {
      while (thread.getState() != Thread.State.WAITING) {
        Thread.onSpinWait();
      }
    }
    waiting.getFirst().interrupt();
    assertFalse(event.isDone());
    held.release();
    for (Thread thread : waiting) {
      thread.join();
    }
    assertTrue(event.isDone());
    event.await();
    CountDownLatch late = new CountDownLatch(1);
    event.whenDone(late::countDown);
    assertEquals(0, late.getCount());
  }

  @Test
  void whenDone_whoseActionThrows_leavesTheOthersAndTheEngineAlone() throws InterruptedException {
    AddressRange range = mapped(1);
    HeldSource held = HeldSource.holding(1);
    DeviceEvent event = device.copies().copy(held, 0, range, 0, 1);
    CountDownLatch ran = new CountDownLatch(1);
    event.whenDone(
        () -> {
          throw new IllegalStateException("expected by this test");
        });
    event.whenDone(ran::countDown);
    held.release();
    ran.await();
    device.copies().copy(held, 0, range, 0, 1).await();
  }

  @Test
  void close_withCopiesPending_failsThem() throws InterruptedException {
    AddressRange range = mapped(1);
    HeldSource held = HeldSource.holding(1);
    List<DeviceEvent> events = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      events.add(device.copies().copy(held, 0, range, 0, 1));
    }
    held.awaitReached();
    Thread closing = Thread.ofPlatform().start(device::close);
    while (closing.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    held.release();
    closing.join();
    for (DeviceEvent event : events) {
      StatusException reason = assertThrows(StatusException.class, event::await);
      assertEquals(Status.UNAVAILABLE, reason.status());
    }
    assertThrows(IllegalStateException.class, () -> device.copies().copy(held, 0, range, 0, 1));
  }

  @Test
  void randomCycles_matchAModelOfArrays() {
    long seed = System.nanoTime();
    try {
      runCycles(new SplittableRandom(seed));
    } catch (RuntimeException | AssertionError e) {
      throw new AssertionError("with seed " + seed, e);
    }
  }

  private void runCycles(SplittableRandom random) {
    AddressRange range = device.reserve(5L * pageBytes);
    @Nullable Page[] slots = new @Nullable Page[range.slots()];
    byte[][] contents = new byte[PAGES][];
    for (int cycle = 0; cycle < 1000; cycle++) {
      int slot = random.nextInt(slots.length);
      Page page = slots[slot];
      if (page == null) {
        Page taken = page();
        range.map(slot, taken);
        slots[slot] = taken;
        if (contents[taken.index()] == null) {
          contents[taken.index()] = read(range, (long) slot * pageBytes, pageBytes);
        }
      } else if (random.nextInt(3) == 0) {
        assertEquals(page, range.unmap(slot));
        slots[slot] = null;
        device.pages().giveBack(page);
      } else {
        int offset = random.nextInt(pageBytes);
        int bytes = random.nextInt(Math.min(20_000, pageBytes - offset + 1));
        BytesSource source = BytesSource.random(bytes, random.nextLong());
        device.copies().copy(source, 0, range, (long) slot * pageBytes + offset, bytes).await();
        System.arraycopy(source.bytes(), 0, contents[page.index()], offset, bytes);
      }
      int looked = random.nextInt(slots.length);
      Page there = slots[looked];
      if (there != null) {
        byte[] found = read(range, (long) looked * pageBytes, pageBytes);
        assertEquals(-1, Arrays.mismatch(contents[there.index()], found), "cycle " + cycle);
      }
    }
  }
}
