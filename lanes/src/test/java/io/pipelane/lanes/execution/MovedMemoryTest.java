package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.TestDevices;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Memory that moves under sessions between their runs, on any device: a thousand moves change no
 * bit of an answer, as addresses stay (Salus §3.3).
 */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MovedMemoryTest {
  private static final int MOVES = Boolean.getBoolean("pipelane.long") ? 1_000 : 150;
  private static final int WIDTH = TestDevices.ON_GPU ? 512 : 64;
  private static final int MOST_ROWS = 8;
  private static final long MIB = 1 << 20;
  private static final long WORKING = TestDevices.ON_GPU ? 1L << 30 : 32 * MIB;
  private static final long PAGE = TestDevices.pageBytes(16 << 10);
  private static final int SPARE_PAGES = 4;

  @TempDir Path folder;
  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);
  private final Map<EphemeralRegion, ModelSession> sessionsByLane = new HashMap<>();
  private final List<float[]> expected = new ArrayList<>();
  private ImportedModel model;
  private BytesSource weights;
  private Device device;
  private DeviceMemory memory;
  private Lanes lanes;
  private SessionFactory sessions;
  private PersistentMemory.Account constants;
  private AddressRange range;
  private int inOtherLanes;

  @BeforeEach
  void openDevice() throws IOException {
    model = TestImports.of(TestModels.chain(6, WIDTH, 1), "chain", folder);
    weights = new BytesSource(Files.readAllBytes(model.weights()));
    int slots = Math.toIntExact(Math.ceilDiv(weights.byteSize(), PAGE));
    device = TestDevices.open((slots + SPARE_PAGES) * PAGE, PAGE);
    memory = new DeviceMemory(device.persistent());
    lanes = new Lanes(device, memory, WORKING, 3, 0);
    sessions = TestDevices.sessions(device, memory);
    constants = device.persistent().open("test", WORKING);
    range = device.reserve(weights.byteSize());
    for (int slot = 0; slot < slots; slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    fill(0, slots);
  }

  @AfterEach
  void closeDevice() {
    sessionsByLane.values().forEach(ModelSession::close);
    lanes.checkSafety();
    lanes.close();
    sessions.close();
    device.close();
  }

  /** Has a stretch of slots hold what belongs there. */
  private void fill(int firstSlot, int endSlot) {
    long begin = firstSlot * PAGE;
    long bytes = Math.min(weights.byteSize(), endSlot * PAGE) - begin;
    device.copies().copy(weights, begin, range, begin, bytes).await();
    range.settled(range.slots()).await();
  }

  @Test
  void manyMoves_everyAnswerIsTheFirstOneToTheBit() {
    for (int rows = 1; rows <= MOST_ROWS; rows++) {
      expected.add(run(rows));
    }
    for (int i = 0; i < MOVES; i++) {
      move(i % 7);
      int rows = 1 + random.nextInt(MOST_ROWS);
      assertArrayEquals(
          expected.get(rows - 1), run(rows), "after move %d, seed %d".formatted(i, seed));
    }
    assertTrue(inOtherLanes > 0, "all ran in one lane");
  }

  private void move(int kind) {
    switch (kind) {
      case 0 -> toAnotherPage(random.nextInt(range.slots()));
      case 1 -> exchange(random.nextInt(range.slots()), random.nextInt(range.slots()));
      case 2 -> takenAndGivenBack(random.nextInt(range.slots()));
      case 3 -> compact();
      case 4 -> shrinkLanes();
      case 5 -> growLane();
      default -> runElsewhere();
    }
    lanes.checkSafety();
  }

  private void toAnotherPage(int slot) {
    Page other = device.pages().take().orElseThrow();
    device.pages().giveBack(range.unmap(slot));
    range.map(slot, other);
    fill(slot, slot + 1);
  }

  private void exchange(int slot, int other) {
    if (slot != other) {
      Page page = range.unmap(slot);
      range.map(slot, range.unmap(other));
      range.map(other, page);
      fill(slot, slot + 1);
      fill(other, other + 1);
    }
  }

  /** As when lanes borrow what the tail lies in. */
  private void takenAndGivenBack(int slot) {
    Page page = range.unmap(slot);
    if (device.vacatesPages()) {
      device.vacate(page);
    }
    range.map(slot, page);
    fill(slot, slot + 1);
  }

  /** The range's pages are those with the lowest numbers, in order. */
  private void compact() {
    List<Page> all = new ArrayList<>();
    for (int slot = 0; slot < range.slots(); slot++) {
      all.add(range.unmap(slot));
    }
    while (device.pages().free() > 0) {
      all.add(device.pages().take().orElseThrow());
    }
    all.sort(Comparator.comparingInt(Page::index));
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, all.get(slot));
    }
    all.subList(range.slots(), all.size()).forEach(device.pages()::giveBack);
    fill(0, range.slots());
  }

  /** What is parked is wanted by others. */
  private void shrinkLanes() {
    long all = lanes.freeBytes();
    assertTrue(lanes.tryReservePersistent(all));
    assertEquals(0, lanes.laneBytes());
    lanes.releasePersistent(all);
  }

  private void growLane() {
    lanes.enter(MIB + random.nextLong(WORKING / 2)).close();
  }

  private void runElsewhere() {
    try (LaneLease _ = lanes.enter(random.nextLong(WORKING / 4))) {
      int rows = 1 + random.nextInt(MOST_ROWS);
      assertArrayEquals(expected.get(rows - 1), run(rows), "in another lane, seed " + seed);
    }
    inOtherLanes = sessionsByLane.size() > 1 || !sessions.boundToLane() ? 1 : inOtherLanes;
  }

  private float[] run(int rows) {
    Random numbers = new Random(rows);
    float[] x = new float[rows * WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) numbers.nextGaussian();
    }
    FloatInvocation invocation = new FloatInvocation(x, Shape.of(rows, WIDTH));
    try (LaneLease lane = lanes.enter(random.nextLong(64 << 10))) {
      session(lane.region()).run(invocation, lane.region(), lane::grow, WeightArrivals.PRESENT);
    }
    return invocation.output();
  }

  private ModelSession session(EphemeralRegion lane) {
    EphemeralRegion seat = sessions.boundToLane() ? lane : sharedSeat(lane);
    return sessionsByLane.computeIfAbsent(
        seat,
        _ ->
            sessions.gated(
                model,
                range.address(),
                sessions.boundToLane() ? lane : null,
                new MemoryTarget.Persistent(constants)));
  }

  /** Where any lane will do there is one session for all. */
  private EphemeralRegion sharedSeat(EphemeralRegion lane) {
    return sessionsByLane.isEmpty() ? lane : sessionsByLane.keySet().iterator().next();
  }
}
