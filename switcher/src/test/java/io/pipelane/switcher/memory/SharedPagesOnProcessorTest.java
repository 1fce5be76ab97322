package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.account.TransferCounters;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The processor's device, and weights in files: one physical page under several addresses. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SharedPagesOnProcessorTest {
  private static final int PAGE = 2 << 20;
  private static final int PAGES = 12;

  /** The last layer begins within the last page but one, and ends within the last. */
  private static final int BYTES = (PAGES - 1) * PAGE + PAGE / 2;

  private static final int LAST_LAYER = PAGE;

  @TempDir private Path folder;

  private final CpuDevice device =
      CpuDevice.open(
          new ByteSize(2L * PAGES * PAGE), new ByteSize(PAGE), Bandwidth.parse("10GB/s"));
  private final HostTier tier = HostTier.mapping(new ByteSize(1L << 30));
  private final MemoryDaemon daemon =
      new MemoryDaemon(
          device,
          2L * PAGES * PAGE,
          tier,
          new EqualBytesGrouping(8, 4L * PAGE),
          structure -> false,
          SharedPagesTest.settings(true, false),
          System::nanoTime);
  private final byte[] weights = new byte[BYTES];
  private final Random random = new Random(1);

  @BeforeEach
  void draw() {
    random.nextBytes(weights);
  }

  @AfterEach
  void close() {
    daemon.ledger().verify();
    daemon.close();
    assertEquals(0, daemon.ledger().lentBytes());
    tier.close();
    device.close();
  }

  /** A version whose last layer is its own. */
  private ImportedModel version(String name) throws IOException {
    byte[] last = new byte[LAST_LAYER];
    random.nextBytes(last);
    byte[] own = weights.clone();
    System.arraycopy(last, 0, own, BYTES - LAST_LAYER, LAST_LAYER);
    Path file = Files.write(folder.resolve(name), own);
    long[] segments = {3L * PAGE + 1, BYTES - LAST_LAYER - 3L * PAGE - 1, LAST_LAYER};
    ImportedModel of = FakeModels.variant(name, "structure", segments);
    return new ImportedModel(of.version(), of.plan(), file, file);
  }

  private void run(ImportedModel model) throws IOException {
    try (Lease lease = daemon.acquire(model.version())) {
      requireContent(lease, model);
    }
    daemon.ledger().verify();
  }

  private static void requireContent(Lease lease, ImportedModel model) throws IOException {
    lease.awaitAll();
    MemorySegment there = lease.range().addresses.memory().asSlice(0, BYTES);
    MemorySegment file = MemorySegment.ofArray(Files.readAllBytes(model.weights()));
    assertEquals(-1, there.mismatch(file), model.version() + " is wrong");
  }

  @Test
  void versionsThatDifferInTheLastLayer_moveAndTakeItsPagesAlone() throws IOException {
    ImportedModel one = version("one");
    ImportedModel two = version("two");
    daemon.register(one);
    daemon.register(two);
    run(one);
    run(two);
    TransferCounters counters = daemon.counters();
    System.out.printf(
        "weights of %d bytes, a last layer of %d: two versions moved %d, and hold %d of memory%n",
        BYTES, LAST_LAYER, counters.bytesLoaded(), daemon.ledger().lentBytes());
    assertEquals(BYTES + PAGE + PAGE / 2, counters.bytesLoaded());
    assertEquals((PAGES + 2L) * PAGE, daemon.ledger().lentBytes());
    assertEquals((PAGES - 2L) * PAGE, daemon.ledger().sharedBytes());
    run(one);
    run(two);
    daemon.evictions().evict(one.version(), 0);
    run(two);
    assertEquals(counters.bytesLoaded(), daemon.counters().bytesLoaded());
    run(one);
  }

  @Test
  void versionsThatRunAtTheSameTime_readOnePageAtTwoAddresses() throws IOException {
    ImportedModel one = version("one").unshared();
    ImportedModel two = version("two").unshared();
    daemon.register(one);
    daemon.register(two);
    try (Lease first = daemon.acquire(one.version());
        Lease second = daemon.acquire(two.version())) {
      requireContent(second, two);
      requireContent(first, one);
    }
    daemon.deregister(one.version());
    run(two);
    assertEquals(BYTES + PAGE + PAGE / 2, daemon.counters().bytesLoaded());
  }
}
