package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.config.ResidencyConfig;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.schedule.run.FetchAheadThread;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A slow link to the processor's device, and who goes first on it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ThrottledLinkTest {
  private static final long PAGE = 4_096;
  private static final int BACKGROUND_PAGES = 40;
  private static final int URGENT_PAGES = 6;

  private final RecordingDevice device =
      RecordingDevice.of(
          CpuDevice.open(new ByteSize(64 * PAGE), new ByteSize(PAGE), Bandwidth.parse("50MB/s")));
  private final MemoryDaemon daemon =
      new MemoryDaemon(
          device,
          64 * PAGE,
          model -> new Source(model.version().model(), model.plan().weightBytes()),
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
      return device.given().stream().map(copy -> ((Source) copy.source()).model()).toList();
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
}
