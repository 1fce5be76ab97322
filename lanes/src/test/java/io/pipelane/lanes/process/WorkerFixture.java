package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/** A device whose sessions run in worker processes, and what tests do with it. */
final class WorkerFixture implements AutoCloseable {
  static final long MIB = 1 << 20;
  private static final long PAGE = 64 << 10;
  private static final long REGION_LIMIT = TestDevices.ON_GPU ? 16 * MIB : MIB;

  final SharedDevice device = openDevice();
  final EphemeralRegion region = device.ephemeral(16 * MIB);
  final ProcessSessionFactory sessions;
  PersistentMemory.Account constants = openConstants();
  private final List<AddressRange> ranges = new ArrayList<>();

  WorkerFixture(TestWorkers workers) {
    region.limit(REGION_LIMIT);
    sessions = TestDevices.workers(device, workers);
  }

  private PersistentMemory.Account openConstants() {
    return device.persistent().open("test", 64 * MIB);
  }

  /** The device alone. */
  static SharedDevice openDevice() {
    return TestDevices.openForWorkers(TestDevices.ON_GPU ? 64 * MIB : 4 * MIB, PAGE);
  }

  /** A range with the model's weights in it. */
  AddressRange filled(ImportedModel model) throws IOException {
    AddressRange range = device.reserve(model.plan().weightBytes());
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    fill(model, range);
    ranges.add(range);
    return range;
  }

  /** Copies a model's weights to where they belong. */
  void fill(ImportedModel model, AddressRange range) throws IOException {
    byte[] weights = Files.readAllBytes(model.weights());
    device.copies().copy(new BytesSource(weights), 0, range, 0, weights.length).await();
  }

  /** Makes the region larger. */
  boolean grow(long bytes) {
    region.limit(region.limitBytes() + bytes);
    return true;
  }

  ModelSession gated(ImportedModel model, AddressRange range) {
    return sessions.gated(
        model,
        range.address(),
        sessions.boundToLane() ? region : null,
        new MemoryTarget.Persistent(constants));
  }

  static List<InputTensor> inputs(float[] x) {
    return new FloatInvocation(x, Shape.of(x.length / TestModels.WIDTH, TestModels.WIDTH)).inputs();
  }

  float[] run(ModelSession session, float[] x) {
    return run(session, x, bytes -> false, WeightArrivals.PRESENT);
  }

  float[] run(ModelSession session, float[] x, MemoryTarget.Growth growth, WeightArrivals weights) {
    FloatInvocation invocation =
        new FloatInvocation(x, Shape.of(x.length / TestModels.WIDTH, TestModels.WIDTH));
    session.run(invocation, region, growth, weights);
    return invocation.output();
  }

  /** Runs something of somebody's. */
  float[] run(ModelSession session, float[] x, String owner) {
    FloatInvocation invocation =
        new FloatInvocation(x, Shape.of(x.length / TestModels.WIDTH, TestModels.WIDTH)) {
          @Override
          public String owner() {
            return owner;
          }
        };
    session.run(invocation, region, bytes -> false, WeightArrivals.PRESENT);
    return invocation.output();
  }

  /**
   * Runs twice, which is worth a warm-up, and waits until a standby has begun one that never ends.
   *
   * @return what the runs answered
   */
  float[] hangInAWarmUp(ArmedFaults faults, ModelSession session, float[] x) {
    faults.arm(Step.WARMING, Fault.HANG);
    float[] answer = run(session, x);
    awaitStandby(1);
    assertArrayEquals(answer, run(session, x));
    while (faults.isArmed(Step.WARMING)) {
      LockSupport.parkNanos(1_000_000);
    }
    return answer;
  }

  static float[] random(int rows, long seed) {
    Random random = new Random(seed);
    float[] x = new float[rows * TestModels.WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  /** The active worker. */
  WorkersOverview.Entry active() {
    return ActiveWorker.of(sessions);
  }

  /** The worker of a state, once there is one with so many sessions. */
  WorkersOverview.Entry await(WorkerState state, int built) {
    Optional<WorkersOverview.Entry> found = in(state);
    while (found.filter(worker -> worker.sessions() >= built).isEmpty()) {
      LockSupport.parkNanos(1_000_000);
      found = in(state);
    }
    return found.orElseThrow();
  }

  Optional<WorkersOverview.Entry> in(WorkerState state) {
    return sessions.workers().workers().stream().filter(w -> w.state() == state).findFirst();
  }

  /** Waits until a worker stands by with so many sessions. */
  void awaitStandby(int built) {
    while (in(WorkerState.STANDBY).filter(worker -> worker.sessions() >= built).isEmpty()) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** Checks that a test has left nothing, and has the next find all but the worker as new. */
  void clear() {
    for (AddressRange range : ranges) {
      for (int slot = 0; slot < range.slots(); slot++) {
        device.pages().giveBack(range.unmap(slot));
      }
      range.close();
    }
    ranges.clear();
    assertEquals(device.pages().total(), device.pages().free());
    constants.close();
    assertEquals(0, device.persistent().usedBytes());
    constants = openConstants();
    assertEquals(0, region.usedBytes());
    region.resetPeak();
    region.limit(REGION_LIMIT);
    assertEquals(0, active().sessions());
    assertEquals(0, sessions.workers().lost());
  }

  /** Checks that no run has left anything, and gives everything back. */
  @Override
  public void close() {
    assertEquals(0, region.usedBytes());
    constants.close();
    sessions.close();
    device.close();
  }
}
