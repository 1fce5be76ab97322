package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Models in files that come and go on a processor whose link has no rate. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShownWeightsOnProcessorTest {
  private static final int PAGE = 2 << 20;
  private static final int BYTES = 3 * PAGE + PAGE / 2;
  private static final int ROOM = 10;

  @TempDir private Path folder;

  private final CpuDevice device =
      CpuDevice.open(new ByteSize((long) ROOM * PAGE), new ByteSize(PAGE), Bandwidth.UNLIMITED);
  private final HostTier tier = HostTier.mapping(new ByteSize(4L * BYTES));
  private final MemoryDaemon daemon =
      new MemoryDaemon(
          device,
          (long) ROOM * PAGE,
          tier,
          new EqualBytesGrouping(8, PAGE / 4),
          structure -> false,
          SharedPagesTest.settings(true, false),
          System::nanoTime);
  private final Random random = new Random(11);

  @AfterEach
  void close() {
    daemon.ledger().verify();
    daemon.close();
    assertEquals(0, daemon.ledger().lentBytes());
    tier.close();
    device.close();
  }

  private ImportedModel model(String name, String structure, byte[] weights) throws IOException {
    Path file = Files.write(folder.resolve(name), weights);
    long[] segments = {PAGE + 1, PAGE / 2, BYTES - PAGE - 1 - PAGE / 2};
    ImportedModel of = FakeModels.variant(name, structure, segments);
    ImportedModel model = new ImportedModel(of.version(), of.plan(), file, file);
    daemon.register(model);
    return model;
  }

  private byte[] drawn() {
    byte[] weights = new byte[BYTES];
    random.nextBytes(weights);
    return weights;
  }

  private void run(ImportedModel model) {
    try (Lease lease = daemon.acquire(model.version())) {
      lease.awaitAll();
      MemorySegment there = lease.range().addresses.memory().asSlice(0, BYTES);
      MemorySegment file = MemorySegment.ofArray(Files.readAllBytes(model.weights()));
      assertEquals(-1, there.mismatch(file), model.version() + " is wrong");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    daemon.ledger().verify();
  }

  private void awaitAtHand(ImportedModel model) {
    try (WeightSource source = tier.open(model)) {
      while (device.copies().atHand(source, 0, BYTES) < BYTES) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void modelThatComesBack_isThereWithoutACopyAndTakesItsPages() throws IOException {
    ImportedModel one = model("one", "one", drawn());
    run(one);
    awaitAtHand(one);
    daemon.evictions().evict(one.version(), PAGE);
    long copies = daemon.counters().copies();

    try (Lease lease = daemon.acquire(one.version())) {
      lease.awaitAll();
      assertEquals(0, lease.stallNanos());
      assertEquals(4L * PAGE, daemon.ledger().lentBytes());
    }

    run(one);
    assertEquals(copies + 1, daemon.counters().copies());
  }

  @Test
  void manyModelsThatTakeEachOthersPages_areAlwaysTheirOwn() throws IOException {
    List<ImportedModel> models = new ArrayList<>();
    byte[] alike = drawn();
    for (int i = 0; i < 6; i++) {
      byte[] weights = i % 2 == 0 ? alike.clone() : drawn();
      weights[BYTES - 1] = (byte) i;
      models.add(model("m" + i, "structure" + i / 3, weights)); // The tier holds four of them.
    }
    List<CompletableFuture<Void>> callers = new ArrayList<>();
    for (int caller = 0; caller < 3; caller++) {
      Random drawing = new Random(caller);
      CompletableFuture<Void> done = new CompletableFuture<>();
      callers.add(done);
      Thread.ofPlatform()
          .start(
              () -> {
                try {
                  for (int i = 0; i < 200; i++) {
                    ImportedModel next = models.get(drawing.nextInt(models.size()));
                    run(next);
                    if (drawing.nextInt(4) == 0) {
                      daemon.evictions().evict(next.version(), drawing.nextInt(3) * (long) PAGE);
                    }
                  }
                  done.complete(null);
                } catch (Throwable e) {
                  done.completeExceptionally(e);
                }
              });
    }
    callers.forEach(CompletableFuture::join);
    assertTrue(daemon.counters().copies() > 0);
  }
}
