package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.schedule.run.FetchAheadThread;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A slow link to the processor's device, and who goes first on it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ThrottledLinkTest {
  private static final long PAGE = 4_096;
  private static final String ON_DISK = "on-disk";
  private static final int BACKGROUND_PAGES = 40;
  private static final int URGENT_PAGES = 6;

  private final Disk disk = new Disk(new Semaphore(0), ConcurrentHashMap.newKeySet());
  private final RecordingDevice device =
      RecordingDevice.of(
          CpuDevice.open(new ByteSize(64 * PAGE), new ByteSize(PAGE), Bandwidth.parse("50MB/s")));
  private final MemoryDaemon daemon =
      new MemoryDaemon(
          device,
          64 * PAGE,
          model ->
              model.version().model().equals(ON_DISK)
                  ? new SlowSource(disk, model.plan().weightBytes())
                  : new Source(model.version().model(), model.plan().weightBytes()),
          new EqualBytesGrouping(1_000, 1),
          structure -> false,
          ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
          System::nanoTime);

  /** Weights without content, which say whose they are. */
  private record Source(String model, long byteSize) implements WeightSource {
    @Override
    public void read(long offset, MemorySegment destination) {}

    @Override
    public void close() {}
  }

  /** A disk that reads a page for each permit, which is in memory then. */
  private record Disk(Semaphore turns, Set<Long> inMemory) {
    void read(long offset) {
      if (!inMemory.contains(offset)) {
        turns.acquireUninterruptibly();
        inMemory.add(offset);
      }
    }
  }

  /** Weights on a disk. */
  private record SlowSource(Disk disk, long byteSize) implements WeightSource {
    @Override
    public boolean isInMemory(long offset, long bytes) {
      return disk.inMemory.contains(offset);
    }

    @Override
    public void bringIntoMemory(long offset, long bytes) {
      disk.read(offset);
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      disk.read(offset);
    }

    @Override
    public void close() {}
  }

  @AfterEach
  void close() {
    daemon.close();
    device.close();
  }

  private ImportedModel registered(String name, int pages) {
    long[] segments = new long[pages];
    Arrays.fill(segments, PAGE);
    ImportedModel model = FakeModels.ofBytes(name, segments);
    daemon.register(model);
    return model;
  }

  private List<String> given() {
    synchronized (device.given()) {
      return device.given().stream()
          .map(copy -> copy.source() instanceof Source source ? source.model() : ON_DISK)
          .toList();
    }
  }

  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      Thread.onSpinWait();
    }
  }

  @Test
  void acquire_othersWeightsComeInAhead_runsCopiesComeTogetherAndTheOthersBehind() {
    ImportedModel background = registered("background", BACKGROUND_PAGES);
    ImportedModel urgent = registered("urgent", URGENT_PAGES);
    try (FetchAheadThread _ = new FetchAheadThread(daemon, count -> List.of())) {
      daemon.idleLink().wish(background.version(), Optional.empty(), Priority.ONLINE);
      await(() -> given().size() >= 3);
      try (Lease lease = daemon.acquire(urgent.version())) {
        lease.awaitAll();
      }
      await(() -> given().size() == BACKGROUND_PAGES + URGENT_PAGES);
    }
    List<String> order = given();
    int first = order.indexOf("urgent");
    assertEquals(first + URGENT_PAGES - 1, order.lastIndexOf("urgent"), "nothing in between");
    assertTrue(first >= 3, "it came later");
    await(() -> daemon.ledger().isQuiet());
  }

  @Test
  void acquire_othersComeAheadFromASlowDisk_doesNotWaitForThat() {
    ImportedModel onDisk = registered(ON_DISK, 2);
    ImportedModel inMemory = registered("in-memory", URGENT_PAGES);
    ImportedModel wished = registered("wished", 1);
    try (FetchAheadThread _ = new FetchAheadThread(daemon, count -> List.of())) {
      daemon.idleLink().wish(onDisk.version(), Optional.of(Duration.ofDays(1)), Priority.ONLINE);
      await(disk.turns::hasQueuedThreads);
      try (Lease lease = daemon.acquire(inMemory.version())) {
        lease.awaitAll();
      }
      daemon.idleLink().wish(wished.version(), Optional.empty(), Priority.ONLINE);
      await(() -> given().contains("wished"));
      assertFalse(given().contains(ON_DISK));
      disk.turns.release(2);
      await(() -> given().stream().filter(ON_DISK::equals).count() == 2);
    }
    await(() -> daemon.ledger().isQuiet());
  }

  @Test
  void fetchAhead_heapIsFullForAMoment_weightsStillComeAhead() {
    ImportedModel wished = registered("wished", 1);
    AtomicInteger asked = new AtomicInteger();
    IntFunction<List<ModelVersion>> upcoming =
        _ -> {
          if (asked.getAndIncrement() == 0) {
            throw new OutOfMemoryError("the heap is full for a moment");
          }
          return List.of();
        };
    try (FetchAheadThread thread = new FetchAheadThread(daemon, upcoming)) {
      await(() -> asked.get() > 0);
      daemon.idleLink().wish(wished.version(), Optional.empty(), Priority.ONLINE);
      thread.wake();
      await(() -> given().contains("wished"));
    }
    await(() -> daemon.ledger().isQuiet());
  }
}
