package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.lanes.process.Signals;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/** A switcher with worker processes, and what happens to these. */
final class WorkersFixture implements AutoCloseable {
  /** Chains of several pages each, which a GPU has not as small. */
  static final int WIDTH = TestDevices.ON_GPU ? 512 : 64;

  static final int LAYERS = 8;

  /** Two chains at a time. */
  private static final long WEIGHTS = 2L * LAYERS * WIDTH * WIDTH * Float.BYTES;

  /** A short time for a run that hangs, which a first run on a GPU does not take either. */
  static final Duration SHORT = Duration.ofMillis(TestDevices.ON_GPU ? 4_000 : 500);

  private static final int LANES = 2;
  private static final long WORKING_MEMORY = TestDevices.ON_GPU ? 2L << 30 : 64 << 20;

  final SharedDevice device = TestDevices.openForWorkers(WEIGHTS, 16 << 10);
  final ProcessSessionFactory workers;
  final Switcher switcher;

  /** Workers have the lanes that the switcher needs. */
  WorkersFixture(TestWorkers workers) {
    this(workers, ReadWeights::of);
  }

  /** The same, with weights from elsewhere. */
  WorkersFixture(TestWorkers workers, Function<ImportedModel, WeightSource> weights) {
    this(workers, LANES, weights);
  }

  /** The same with so many runs at a time, two at most. */
  WorkersFixture(TestWorkers workers, int lanes, Function<ImportedModel, WeightSource> weights) {
    this(
        workers,
        SwitcherSettings.of(
            WEIGHTS, WORKING_MEMORY, lanes, 1_000, 1 << 20, new EqualBytesGrouping(8, 1)),
        weights);
  }

  /** The same with so much room for lanes and states, and for states on the host. */
  WorkersFixture(TestWorkers workers, long workingBytes, long hostStateBytes) {
    this(
        workers,
        SwitcherSettings.of(
                WEIGHTS, workingBytes, LANES, 1_000, 1 << 30, new EqualBytesGrouping(8, 1))
            .withHostStateBytes(hostStateBytes),
        ReadWeights::of);
  }

  private WorkersFixture(
      TestWorkers workers,
      SwitcherSettings settings,
      Function<ImportedModel, WeightSource> weights) {
    assumeTrue(device.pages().pageBytes() < WEIGHTS, "pages are small enough for these models");
    this.workers = TestDevices.workers(device, workers.lanes(2 * LANES));
    switcher =
        new Switcher(
            device, new DeviceMemory(device.persistent()), this.workers, settings, weights::apply);
  }

  static float[] input(long seed) {
    Random random = new Random(seed);
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  Call submit(ImportedModel model, float... x) {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), x), call);
    return call;
  }

  float[] infer(ImportedModel model, float... x) {
    return submit(model, x).await();
  }

  Optional<WorkersOverview.Entry> in(WorkerState state) {
    return workers.workers().workers().stream().filter(w -> w.state() == state).findFirst();
  }

  WorkersOverview.Entry await(WorkerState state, int sessions) {
    while (true) {
      Optional<WorkersOverview.Entry> found = in(state);
      if (found.isPresent() && found.get().sessions() >= sessions) {
        return found.get();
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** Ends the active worker at once. */
  void killActive() {
    Signals.send("KILL", await(WorkerState.ACTIVE, 0).pid());
  }

  /** Workers that were lost since the start. */
  long lost() {
    return workers.workers().lost();
  }

  /** Waits until so many workers have been lost, and all are there again. */
  void settle(long lost) {
    while (lost() < lost) {
      LockSupport.parkNanos(1_000_000);
    }
    await(WorkerState.ACTIVE, 0);
    await(WorkerState.STANDBY, 1);
    switcher.verify();
    assertEquals(lost, lost(), workers.workers().lastLoss());
  }

  /** Checks that the accounts are exact and nothing is left. */
  @Override
  public void close() {
    switcher.verify();
    switcher.close();
    assertEquals(0, device.persistent().usedBytes());
    assertEquals(device.pages().total(), device.pages().free());
    device.close();
    assertEquals(0, workers.workers().workers().size());
  }
}
