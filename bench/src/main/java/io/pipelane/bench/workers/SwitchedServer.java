package io.pipelane.bench.workers;

import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.process.Readiness;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.PipelaneServer;
import io.pipelane.switcher.memory.Ledger;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** A server in this process, whose workers are told apart. */
final class SwitchedServer implements AutoCloseable {
  private static final long TICK_NANOS = 500_000;
  private static final long LIMIT_NANOS = 120_000_000_000L;

  private final PipelaneServer server;

  private SwitchedServer(PipelaneServer server) {
    this.server = server;
  }

  static SwitchedServer start(Path repository, Path work, String device, List<String> settings)
      throws InterruptedException {
    Map<String, String> values = new HashMap<>();
    values.put("repository.path", repository.toString());
    values.put("repository.cache", work.resolve("cache").toString());
    values.put("device.kind", device);
    values.put("device.memory", "1GiB");
    values.put("server.http-port", "0");
    for (String setting : settings) {
      int equals = setting.indexOf('=');
      values.put(setting.substring(0, equals), setting.substring(equals + 1));
    }
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(values));
    Readiness.await(server);
    return new SwitchedServer(server);
  }

  LocalCaller caller(BenchCase benchCase) {
    List<String> outputs =
        server.catalog().resolve(benchCase.model(), null).outputs().stream()
            .map(TensorSpec::name)
            .toList();
    return new LocalCaller(server.devices(), version(benchCase), benchCase.inputs(), outputs);
  }

  private static ModelVersion version(BenchCase benchCase) {
    return new ModelVersion(benchCase.model(), 1);
  }

  void evict(BenchCase benchCase) {
    server.devices().evict(version(benchCase));
  }

  /** Who holds what of its one device's memory for weights. */
  Ledger ledger() {
    return server.devices().memory().values().iterator().next().weights();
  }

  /** What each of the copies moves that bring a model in. */
  List<Long> groupBytes(BenchCase benchCase) {
    return ledger().entries().stream()
        .filter(entry -> entry.model().equals(version(benchCase)))
        .map(Ledger.Entry::groupBytes)
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("the model is not in service"));
  }

  WorkersOverview workers() {
    return server.devices().workers();
  }

  /** The process that runs what comes; this one where there are no workers. */
  long activePid() {
    return workers().workers().stream()
        .filter(worker -> worker.state() == WorkerState.ACTIVE)
        .map(WorkersOverview.Entry::pid)
        .findFirst()
        .orElse(ProcessHandle.current().pid());
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
