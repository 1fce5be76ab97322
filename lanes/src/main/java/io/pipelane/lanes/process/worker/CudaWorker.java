package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cpu.execution.WorkerRegion;
import io.pipelane.lanes.cuda.CudaExport;
import io.pipelane.lanes.cuda.execution.CudaSessionFactory;
import io.pipelane.lanes.cuda.worker.CudaWorkerDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.LaneMemory;
import io.pipelane.lanes.process.channel.Message;
import java.nio.file.Path;

/** A GPU. */
final class CudaWorker implements WorkerDevice {
  /** What captures may add to a session's constants. */
  private static final long CAPTURE_BYTES = 16L << 20;

  private final CudaWorkerDevice device;
  private final DeviceMemory memory;
  private final WorkerSteps steps;
  private final SessionFactory sessions;

  CudaWorker(CudaExport export, Path library, WorkerSteps steps) {
    this.steps = steps;
    device = CudaWorkerDevice.open(export);
    memory = new DeviceMemory(device.persistent());
    sessions = new CudaSessionFactory(library, device, memory, export.execution());
  }

  @Override
  public SessionFactory sessions() {
    return sessions;
  }

  @Override
  public PersistentMemory persistent() {
    return device.persistent();
  }

  @Override
  public MappedRange range(ExportedSlots slots) {
    return device.range(slots);
  }

  @Override
  public void giveBack(ExportedSlots slots) {
    device.giveBack(slots);
  }

  @Override
  public EphemeralRegion region(int lane, long maximumBytes) {
    device.tidyStates(); // What others have given back is the session's to take.
    return device.region(lane, maximumBytes, memory::add);
  }

  @Override
  public void begins(int lane) {
    device.begins(lane);
  }

  @Override
  public WorkerLane lane(int number, LaneMemory lane) {
    WorkerRegion host = device.hostRegion(lane.descriptor(), lane.hostBytes());
    host.limit(lane.hostBytes());
    return new WorkerLane(device.region(number), host);
  }

  @Override
  public WorkerLane spareLane(int number, long hostBytes) {
    WorkerRegion host = device.spareHostRegion(hostBytes);
    host.limit(hostBytes);
    return new WorkerLane(device.region(number), host);
  }

  @Override
  public boolean hasFree(long bytes) {
    return device.hasFree(bytes);
  }

  @Override
  public ServerMemory serverMemory() {
    return new ServerMemory(device.transferMemory(), device::state);
  }

  @Override
  public WorkerArrivals arrivals(Message.Run run, ChannelEnd end, WorkerSession session) {
    device.tidyStates(); // What others have given back is the lane's to take.
    return new DeviceArrivals(device, run, end, session, steps);
  }

  @Override
  public long awakeNanos() {
    return device.awakeNanos();
  }

  @Override
  public void check() {
    device.check();
  }

  @Override
  public void tidy() {
    device.tidy();
  }

  @Override
  public void tidyStates() {
    device.tidyStates();
  }

  @Override
  public void release() {
    device.release();
  }

  @Override
  public long sparedBytes() {
    return CAPTURE_BYTES;
  }
}
