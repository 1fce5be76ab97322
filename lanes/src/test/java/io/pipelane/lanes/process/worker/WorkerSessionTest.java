package io.pipelane.lanes.process.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerSessionTest {
  @TempDir Path folder;
  private final AtomicInteger shrunk = new AtomicInteger();

  private final ModelSession session =
      new ModelSession() {
        @Override
        public void run(
            Invocation invocation,
            EphemeralRegion region,
            MemoryTarget.Growth growth,
            WeightArrivals weights) {}

        @Override
        public void shrink() {
          shrunk.incrementAndGet();
        }

        @Override
        public void close() {}
      };

  private static final class NoRange implements MappedRange {
    @Override
    public long address() {
      return 0;
    }

    @Override
    public void map(long begin, long endByte) {}

    @Override
    public Blank blank() {
      return () -> {};
    }
  }

  @Test
  void shrink_whileARunIsUnderWay_saysThatItWaits() throws Exception {
    Plan plan = TestImports.of(TestModels.branches(1), "branches", folder).plan();
    ReadWriteLock use = new ReentrantReadWriteLock();
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch waits = new CountDownLatch(1);
    Thread run =
        Thread.ofPlatform()
            .start(
                () -> {
                  use.readLock().lock();
                  try {
                    begun.countDown();
                    awaited(waits);
                  } finally {
                    use.readLock().unlock();
                  }
                });
    begun.await();
    try (Device device =
            CpuDevice.open(new ByteSize(1 << 20), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
        Account constants = device.persistent().open("test", 0)) {
      new WorkerSession(
              session,
              plan,
              new NoRange(),
              new ExportedSlots(0, 0, 1),
              constants,
              0,
              new AtomicBoolean(),
              use)
          .betweenRuns(session::shrink, waits::countDown);
    }
    run.join();
    assertEquals(0, waits.getCount());
    assertEquals(1, shrunk.get());
  }

  private static void awaited(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
