package io.pipelane.loadgen.experiment;

import com.sun.management.OperatingSystemMXBean;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.drive.LoadRun;
import io.pipelane.loadgen.drive.Transport;
import io.pipelane.loadgen.grpc.GrpcTransport;
import io.pipelane.loadgen.http.HttpTransport;
import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.Progress;
import io.pipelane.loadgen.settings.LoadTest;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** The runner of load tests against a server over the network. */
public final class LoadRunner {
  private static final long PROGRESS_MILLIS = 200;

  private LoadRunner() {}

  /**
   * Runs a test to its end, as below.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the server cannot be connected to
   * @throws InterruptedException when the calling thread is interrupted a second time
   */
  public static LoadReport run(LoadTest test) throws InterruptedException {
    return run(test, _ -> {});
  }

  /**
   * Runs a test to its end. When the calling thread is interrupted, the measurement ends there: the
   * report is of what was measured until then, and the thread is interrupted once it is there.
   *
   * @param progress told several times a second, on the calling thread
   * @throws StatusException {@link Status#UNAVAILABLE} when the server cannot be connected to
   * @throws InterruptedException when the calling thread is interrupted a second time
   */
  public static LoadReport run(LoadTest test, Consumer<Progress> progress)
      throws InterruptedException {
    boolean interrupted = false;
    try (Transport transport = transport(test)) {
      LoadRun run = new LoadRun(test, transport, transport, LoadRunner::cpuTime);
      transport.execute(run::start);
      while (true) {
        try {
          return run.report().get(PROGRESS_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
          if (interrupted) {
            throw e;
          }
          interrupted = true;
          transport.execute(run::end);
        } catch (TimeoutException e) {
          progress.accept(run.progress());
        } catch (ExecutionException e) {
          if (e.getCause() instanceof StatusException known) {
            throw known;
          }
          throw new StatusException(Status.INTERNAL, "the load generator failed", e);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static Transport transport(LoadTest test) {
    return test.endpoint().isGrpc() ? new GrpcTransport(test) : new HttpTransport(test);
  }

  private static ClientCpu cpuTime() {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long collectingMillis =
        ManagementFactory.getGarbageCollectorMXBeans().stream()
            .mapToLong(GarbageCollectorMXBean::getCollectionTime)
            .sum();
    return new ClientCpu(
        Duration.ofNanos(system.getProcessCpuTime()),
        Duration.ofNanos(threads.getCurrentThreadCpuTime()),
        Duration.ofMillis(collectingMillis));
  }
}
