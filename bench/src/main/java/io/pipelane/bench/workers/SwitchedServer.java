package io.pipelane.bench.workers;

import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.process.Readiness;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.PipelaneServer;
import io.pipelane.switcher.memory.account.Ledger;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** A server in this process, whose workers are told apart. */
final class SwitchedServer implements AutoCloseable {
  private static final long TICK_NANOS = 500_000;
  private static final long WARM_UP_NANOS = 10_000_000_000L;
  private static final long LIMIT_NANOS = 120_000_000_000L;

  private final PipelaneServer server;

  private SwitchedServer(PipelaneServer server) {
    this.server = server;
  }

  /**
   * Starts one and waits until its models are READY.
   *
   * @param settings but for those of the way
   * @param way more of them, {@code KEY=VALUE}
   */
  static SwitchedServer start(Map<String, String> settings, List<String> way)
      throws InterruptedException {
    Map<String, String> values = new HashMap<>(settings);
    for (String setting : way) {
      int equals = setting.indexOf('=');
      values.put(setting.substring(0, equals), setting.substring(equals + 1));
    }
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(values));
    Readiness.await(server);
    return new SwitchedServer(server);
  }

  /** What a model is asked. */
  List<Tensor> inputs(AskedModel asked) {
    return asked.inputs().apply(server.catalog().resolve(asked.model(), "").inputs());
  }

  LocalCaller caller(AskedModel asked) {
    List<String> outputs =
        server.catalog().resolve(asked.model(), "").outputs().stream()
            .map(TensorSpec::name)
            .toList();
    return new LocalCaller(server.devices(), version(asked), inputs(asked), outputs);
  }

  private static ModelVersion version(AskedModel asked) {
    return new ModelVersion(asked.model(), 1);
  }

  void evict(AskedModel asked) {
    server.devices().evict(version(asked));
  }

  /** Who holds what of its one device's memory for weights. */
  Ledger ledger() {
    return server.devices().memory().values().iterator().next().weights();
  }

  /** What each of the copies moves that bring a model in. */
  List<Long> groupBytes(AskedModel asked) {
    return ledger().entries().stream()
        .filter(entry -> entry.model().equals(version(asked)))
        .map(Ledger.Entry::groupBytes)
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("the model is not in service"));
  }

  WorkersOverview workers() {
    return server.devices().workers();
  }

  /** The process that runs what comes; this one where there are no workers. */
  long activePid() {
    return active().map(WorkersOverview.Entry::pid).orElse(ProcessHandle.current().pid());
  }

  /** The worker that runs what comes, where there are any. */
  Optional<WorkersOverview.Entry> active() {
    return workers().workers().stream()
        .filter(worker -> worker.state() == WorkerState.ACTIVE)
        .findFirst();
  }

  /** Waits until so many workers have all sessions. */
  void awaitBuilt(int count, int sessions) throws IOException {
    long end = System.nanoTime() + LIMIT_NANOS;
    while (workers().workers().stream()
            .filter(worker -> worker.state() != WorkerState.RETIRING)
            .filter(worker -> worker.sessions() >= sessions)
            .count()
        < count) {
      if (System.nanoTime() > end) {
        throw new IOException("the workers were not ready in minutes: " + workers());
      }
      LockSupport.parkNanos(TICK_NANOS);
    }
  }

  /** Waits a while for those that stand by to have run so many shapes. */
  void awaitWarmedUp(int shapes) {
    long end = System.nanoTime() + WARM_UP_NANOS;
    while (System.nanoTime() < end
        && workers().workers().stream()
            .filter(worker -> worker.state() == WorkerState.STANDBY)
            .anyMatch(worker -> worker.warmedUp() < shapes)) {
      LockSupport.parkNanos(TICK_NANOS);
    }
  }

  /** Ends a worker's process; blocks until it is gone. */
  static void kill(long pid) throws IOException {
    ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    awaitGone(pid);
  }

  static void awaitGone(long pid) throws IOException {
    long end = System.nanoTime() + LIMIT_NANOS;
    while (ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false)) {
      if (System.nanoTime() > end) {
        throw new IOException("process " + pid + " does not end");
      }
      LockSupport.parkNanos(TICK_NANOS);
    }
  }

  @Override
  public void close() {
    server.close();
  }
}
