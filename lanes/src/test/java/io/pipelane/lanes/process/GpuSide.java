package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceCopy;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.HeldSource;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.CudaHostMemory;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.execution.CudaSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.runtime.Shape;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;

/** A GPU with one lane and one model, whose sessions run in this process or in others. */
final class GpuSide implements AutoCloseable {
  private static final long LANE_BYTES = 256L << 20;

  private final CudaDevice device;
  private final EphemeralRegion region;
  private final SessionFactory sessions;
  private final ImportedModel model;
  private final AddressRange range;
  private final List<Page> pages = new ArrayList<>();
  private HostMemory.Loaded host;
  private final List<HostMemory.Loaded> tables = new ArrayList<>();
  private WeightSource weights;
  private final PersistentMemory.Account constants;
  private final ModelSession session;

  /** An answer and how long it took. */
  static final class Timed {
    private final float[] y;
    private final long nanos;

    private Timed(float[] y, long nanos) {
      this.y = y;
      this.nanos = nanos;
    }

    float[] y() {
      return y;
    }

    long nanos() {
      return nanos;
    }
  }

  private GpuSide(
      CudaDevice device,
      ImportedModel model,
      BiFunction<CudaDevice, DeviceMemory, SessionFactory> factory)
      throws IOException {
    this.device = device;
    this.model = model;
    DeviceMemory memory = new DeviceMemory(device.persistent());
    region = device.ephemeral(LANE_BYTES);
    memory.add(region);
    region.limit(LANE_BYTES);
    constants = device.persistent().open("test", 256L << 20);
    sessions = factory.apply(device, memory);
    range = device.reserve(model.plan().weightBytes(), model.plan().inPlaceBytes());
    for (int slot = 0; slot < range.slots(); slot++) {
      pages.add(device.pages().take().orElseThrow());
      range.map(slot, pages.get(slot));
    }
    host = new CudaHostMemory(device.context()).load(model.weights());
    weights = new MemorySource(host.memory());
    if (model.plan().inPlaceBytes() > 0) {
      tables.add(new CudaHostMemory(device.context()).load(model.inPlaceWeights()));
      range.show(tables.getLast());
    }
    session =
        sessions.gated(model, range.address(), region, new MemoryTarget.Persistent(constants));
  }

  static GpuSide inThisProcess(CudaDevice device, ImportedModel model) throws IOException {
    return new GpuSide(
        device,
        model,
        (cuda, memory) ->
            new CudaSessionFactory(TestDevices.library(), cuda, memory, ExecutionSettings.DEFAULT));
  }

  static GpuSide inWorkers(CudaDevice device, ImportedModel model, int standbys)
      throws IOException {
    return new GpuSide(
        device,
        model,
        (cuda, memory) ->
            TestDevices.workers(
                cuda, new TestWorkers(standbys).hangTimeout(Duration.ofSeconds(30))));
  }

  /** Workers that fail as is told, and that may take so long for a segment. */
  static GpuSide inFaultyWorkers(CudaDevice device, ImportedModel model, Duration hangTimeout)
      throws IOException {
    return new GpuSide(
        device,
        model,
        (cuda, memory) ->
            TestDevices.workers(
                cuda, new TestWorkers(1).program(FaultyWorker.class).hangTimeout(hangTimeout)));
  }

  static float[] random(int length, long seed) {
    Random random = new Random(seed);
    float[] x = new float[length];
    for (int i = 0; i < length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  /** Has a variant with a table run from now on; what it had before is kept. */
  void become(ImportedModel variant) throws IOException {
    CudaHostMemory memory = new CudaHostMemory(device.context());
    host.close();
    host = memory.load(variant.weights());
    weights = new MemorySource(host.memory());
    tables.add(memory.load(variant.inPlaceWeights()));
    range.hide();
    range.show(tables.getLast());
  }

  /** Gives back every table but the one that is shown, as when their models are gone. */
  void forgetOthers() {
    while (tables.size() > 1) {
      tables.removeFirst().close();
    }
    sessions.forget(model);
  }

  /** What is read in place, in memory of this process's. */
  MemorySegment table() {
    return DeviceCopy.writable(tables.getLast().memory());
  }

  /** Has runs read a copy of the table that is shown, in device memory. */
  void showPages(DeviceCopy copy) {
    copy.fill();
    range.showPages(copy.range());
  }

  /** Has runs read the table itself again, and gives the copy's memory back. */
  void hidePages(DeviceCopy copy) {
    range.hidePages();
    copy.empty();
  }

  CudaDevice device() {
    return device;
  }

  List<String> notes() {
    return session.notes();
  }

  void shrink() {
    session.shrink();
  }

  /** As if captures of the model had cost two workers. */
  void refuseCaptures() {
    CaptureLosses losses = ((ProcessSessionFactory) sessions).captureLosses();
    boolean once = losses.lost(model.plan().structureHash(), Blame.ALONE);
    boolean twice = losses.lost(model.plan().structureHash(), Blame.ALONE);
    assertTrue(!once && twice);
  }

  /** As if the model were loaded anew. */
  void allowCaptures() {
    sessions.forget(model);
  }

  WorkersOverview overview() {
    return ((ProcessSessionFactory) sessions).workers();
  }

  WorkersOverview.Entry active() {
    return ActiveWorker.of((ProcessSessionFactory) sessions);
  }

  /** Waits until a worker stands by with the session. */
  void awaitStandby() {
    while (overview().workers().stream()
        .noneMatch(w -> w.state() == WorkerState.STANDBY && w.sessions() > 0)) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** Waits until a worker stands by that has run so many shapes before anybody asked for it. */
  void awaitWarmedUp(int shapes) {
    while (overview().workers().stream()
        .noneMatch(w -> w.state() == WorkerState.STANDBY && w.warmedUp() >= shapes)) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** With weights that are there. */
  Timed warm(float[] x) {
    return timed(x, () -> WeightArrivals.PRESENT);
  }

  /** With weights that come in meanwhile. */
  Timed cold(float[] x) {
    return timed(x, () -> new Arriving(copies(weights)));
  }

  /** The same on pages that have changed their places. */
  Timed moved(float[] x) {
    return timed(
        x,
        () -> {
          for (int slot = 0; slot < range.slots(); slot++) {
            Page _ = range.unmap(slot);
          }
          pages.add(pages.removeFirst());
          for (int slot = 0; slot < range.slots(); slot++) {
            range.map(slot, pages.get(slot));
          }
          return new Arriving(copies(weights));
        });
  }

  private interface Bringing {
    WeightArrivals weights();
  }

  private Timed timed(float[] x, Bringing bringing) {
    FloatInvocation invocation =
        new FloatInvocation(
            x, Shape.of(x.length / width(), width()), TestDevices.transfers().fill((byte) 0));
    long begin = System.nanoTime();
    session.run(invocation, region, bytes -> false, bringing.weights());
    return new Timed(invocation.output(), System.nanoTime() - begin);
  }

  private long width() {
    return model.plan().inputs().getFirst().shape().dimension(1);
  }

  /** A run whose first weights do not come; its device waits when this returns. */
  CompletableFuture<float[]> heldRun(float[] x) throws InterruptedException {
    HeldSource held = HeldSource.holding(model.plan().weightBytes());
    List<DeviceEvent> copies = copies(held);
    held.awaitReached();
    CompletableFuture<float[]> run =
        CompletableFuture.supplyAsync(() -> timed(x, () -> new Arriving(copies)).y());
    LockSupport.parkNanos(200_000_000); // It cannot be seen from here that it waits.
    Thread.ofPlatform()
        .start(
            () -> {
              while (overview().lost() == 0) {
                LockSupport.parkNanos(1_000_000);
              }
              held.release(); // The run's weights must come before it ends.
            });
    return run;
  }

  private List<DeviceEvent> copies(WeightSource source) {
    List<DeviceEvent> events = new ArrayList<>();
    for (Plan.Segment segment : model.plan().segments()) {
      long offset = segment.offset();
      long bytes = segment.byteSize();
      events.add(
          bytes == 0
              ? Completion.DONE
              : device.copies().copy(source, offset, range, offset, bytes));
    }
    return events;
  }

  /** Each segment's weights come by an event of their own. */
  private record Arriving(List<DeviceEvent> events) implements WeightArrivals {
    @Override
    public void await(int segment) {
      events.subList(0, segment + 1).forEach(DeviceEvent::await);
    }

    @Override
    public List<DeviceEvent> before(int segment) {
      DeviceEvent event = events.get(segment);
      return event.isDone() ? List.of() : List.of(event);
    }

    @Override
    public void stalled(long nanos) {
      // Nobody asks.
    }
  }

  @Override
  public void close() throws IOException {
    session.close();
    constants.close();
    if (!tables.isEmpty()) {
      range.hide();
      tables.forEach(HostMemory.Loaded::close);
    }
    for (int slot = 0; slot < range.slots(); slot++) {
      device.pages().giveBack(range.unmap(slot));
    }
    range.close();
    sessions.close();
    host.close();
    device.close();
  }
}
