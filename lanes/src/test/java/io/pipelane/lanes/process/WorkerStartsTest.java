package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.process.settings.WorkerSettings;
import io.pipelane.lanes.process.worker.PretendingWorker;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerStartsTest {
  private static final WorkerSettings ONE_STANDBY =
      new TestWorkers(1).program(PretendingWorker.class).settings();

  private final AtomicInteger threads = new AtomicInteger();

  /** None is to be had for the first standby. */
  private final ThreadFactory factory =
      work -> {
        if (threads.incrementAndGet() == 2) {
          throw new OutOfMemoryError("unable to create native thread");
        }
        return Thread.ofPlatform().daemon().unstarted(work);
      };

  @Test
  void start_noThreadWaitsForAWorker_endsItAndStartsAnother() {
    AtomicInteger ids = new AtomicInteger();
    AtomicInteger ready = new AtomicInteger();
    try (CpuDevice device =
            CpuDevice.openForWorkers(
                ByteSize.ofMebibytes(4), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
        WorkerSupervisor supervisor =
            new WorkerSupervisor(
                ONE_STANDBY,
                device.export(),
                ids::incrementAndGet,
                _ -> ready.incrementAndGet(),
                () -> {},
                factory)) {
      String _ = supervisor.start();
      while (ready.get() < 2) {
        LockSupport.parkNanos(1_000_000);
      }
      assertEquals(3, threads.get());
      assertEquals(3, ids.get());
    }
  }
}
