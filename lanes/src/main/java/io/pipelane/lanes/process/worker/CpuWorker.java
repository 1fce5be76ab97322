package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cpu.CpuExport;
import io.pipelane.lanes.cpu.execution.WorkerMemory;
import io.pipelane.lanes.cpu.execution.WorkerRegion;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.LaneMemory;
import io.pipelane.lanes.process.channel.Message;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The processor. */
final class CpuWorker implements WorkerDevice {
  private final WorkerMemory memory;
  private final SessionFactory sessions;
  private final WorkerSteps steps;

  CpuWorker(CpuExport export, Path library, int threadsPerRun, WorkerSteps steps) {
    this.steps = steps;
    memory = new WorkerMemory(export);
    sessions = memory.sessions(library, threadsPerRun);
  }

  @Override
  public SessionFactory sessions() {
    return sessions;
  }

  @Override
  public PersistentMemory persistent() {
    return memory.persistent();
  }

  @Override
  public MappedRange range(ExportedSlots slots) {
    return memory.range(slots);
  }

  @Override
  public void giveBack(ExportedSlots slots) {
    memory.giveBack(slots);
  }

  @Override
  public @Nullable EphemeralRegion region(int lane, long maximumBytes) {
    return null;
  }

  @Override
  public WorkerLane lane(int number, LaneMemory lane) {
    WorkerRegion opened = memory.region(lane.descriptor(), lane.hostBytes());
    return new WorkerLane(opened, opened);
  }

  @Override
  public WorkerLane spareLane(int number, long hostBytes) {
    WorkerRegion region = memory.spareRegion(hostBytes);
    return new WorkerLane(region, region);
  }

  @Override
  public ServerMemory serverMemory() {
    return new ServerMemory(MemorySegment.NULL, memory::state);
  }

  @Override
  public WorkerArrivals arrivals(Message.Run run, ChannelEnd end, WorkerSession session) {
    return new Arrivals(end, session, steps);
  }

  @Override
  public long sparedBytes() {
    return 0;
  }
}
