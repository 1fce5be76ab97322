package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;

/** The same with models that read tables in place and become hot: each run reads its own table. */
class HotTablesRandomTest extends DaemonRandomTest {
  private static final int BURST = TablesAhead.HOT_USES + 100;

  @AfterEach
  void someTablesHaveCome() {
    assertTrue(daemon.counters().tablesCopied() > 0, "no table was ever copied as a whole");
  }

  @Override
  void registerSome(List<ImportedModel> models, Random random) {
    for (int i = 0; i < 8; i++) {
      String structure = i < 3 ? "shared" : "own" + i;
      models.add(register(this.models.withLargeTable("t" + i, structure, i < 3 ? 2 : 1 + i % 4)));
    }
    models.add(registered("m", 2, 3));
    models.add(registered("n", 1, 4, 2));
  }

  @Override
  void completeNext(Random random) {
    StatusException failure = new StatusException(Status.INTERNAL, "the disk is broken");
    boolean _ = device.completeNext(random.nextInt(30) == 0 ? failure : null);
  }

  @Override
  void operate(Random random) {
    if (random.nextInt(30) == 0) {
      heat(any(random), random);
    } else {
      super.operate(random);
    }
  }

  private void heat(ImportedModel model, Random random) {
    try {
      daemon.acquire(model.version()).close();
      for (int i = 0; i < BURST; i++) {
        Lease lease = daemon.tryAcquire(model.version(), clock.get());
        if (lease != null) {
          lease.close();
        }
      }
      for (int i = 0; i < 3; i++) {
        evict(any(random));
        boolean _ = daemon.idleLink().fetchAhead(List.of());
      }
    } catch (StatusException e) {
      boolean expected = e.status() == Status.NOT_FOUND || e.toString().contains("disk is broken");
      assertTrue(expected, e.toString());
    }
  }

  @Override
  void requireContent(Lease lease, ImportedModel model) {
    super.requireContent(lease, model);
    if (model.plan().inPlaceBytes() > 0) {
      MemorySegment table = models.table(model.version());
      FakeDevice.Range range = (FakeDevice.Range) lease.range().addresses;
      for (long i = 0; i < table.byteSize(); i++) {
        if (inWindow(range, i) != table.get(ValueLayout.JAVA_BYTE, i)) {
          throw new AssertionError(model.version() + " reads another table at byte " + i);
        }
      }
    }
  }
}
