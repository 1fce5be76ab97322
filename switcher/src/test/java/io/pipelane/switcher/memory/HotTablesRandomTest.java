package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.residency.ResidencySettings;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;

/** The same with models that read tables in place and become hot: each run reads its own table. */
class HotTablesRandomTest extends DaemonRandomTest {
  private static final int HOT_RUNS = 8;

  @Override
  ResidencySettings residency() {
    ResidencySettings standard = super.residency();
    return new ResidencySettings(
        standard.config(),
        standard.profiles(),
        standard.costs(),
        standard.offlineShare(),
        standard.zeroPages(),
        HOT_RUNS);
  }

  private final AtomicInteger copiesRead = new AtomicInteger();

  @AfterEach
  void someRunsHaveReadCopies() {
    assertTrue(copiesRead.get() > 0, "no run has read a copy");
  }

  @Override
  void registerSome(List<ImportedModel> models, Random random) {
    for (int i = 0; i < 8; i++) {
      String structure = i < 3 ? "shared" : "own" + i;
      models.add(register(this.models.withLargeTable("t" + i, structure, 1 + i % 2)));
    }
    models.add(registered("m", 1));
    models.add(registered("n", 2, 2));
  }

  @Override
  void completeNext(Random random) {
    StatusException failure = new StatusException(Status.INTERNAL, "the disk is broken");
    boolean _ = device.completeNext(random.nextInt(30) == 0 ? failure : null);
  }

  @Override
  void operate(Random random) {
    if (random.nextInt(4) == 0) {
      evict(any(random));
      for (int i = 0; i < 10; i++) {
        boolean _ = daemon.idleLink().fetchAhead(List.of());
      }
    }
    super.operate(random);
  }

  /** A run reads to its end what it has found in the window when it began. */
  @Override
  void requireContent(Lease lease, ImportedModel model) {
    FakeDevice.Range copy = ((FakeDevice.Range) lease.range().addresses).shownPages;
    super.requireContent(lease, model);
    if (copy != null) {
      MemorySegment table = models.table(model.version());
      for (long i = 0; i < table.byteSize(); i++) {
        daemon.ledger(); // Others have time to take it away.
        if (copy.get(i) != table.get(ValueLayout.JAVA_BYTE, i)) {
          throw new AssertionError(model.version() + " reads another table at byte " + i);
        }
      }
      copiesRead.incrementAndGet();
    }
  }
}
