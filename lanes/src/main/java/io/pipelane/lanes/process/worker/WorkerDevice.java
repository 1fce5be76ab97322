package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.DeviceExport;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cpu.CpuExport;
import io.pipelane.lanes.cuda.CudaExport;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.LaneMemory;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.ProtocolException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The device as a worker process has it; lives as long as the process. Safe for any thread. */
interface WorkerDevice {
  /** Opens what a server has exported. */
  static WorkerDevice open(
      DeviceExport export, Path library, int threadsPerRun, WorkerSteps steps) {
    return switch (export) {
      case CpuExport cpu -> new CpuWorker(cpu, library, threadsPerRun, steps);
      case CudaExport cuda -> new CudaWorker(cuda, library, steps);
      default -> throw new ProtocolException("the server has a device " + export.kind());
    };
  }

  /** Builds sessions here. */
  SessionFactory sessions();

  /** Session constants. */
  PersistentMemory persistent();

  /** The addresses of this process for a range; given back by as many as have asked for it. */
  MappedRange range(ExportedSlots slots);

  /** Gives a range back; its addresses go with its last user. */
  void giveBack(ExportedSlots slots);

  /**
   * The device memory of the lane that a session is built for; null where sessions belong to none.
   *
   * @param maximumBytes what it may ever take
   */
  @Nullable EphemeralRegion region(int lane, long maximumBytes);

  /** A run begins in a lane. */
  default void begins(int lane) {}

  /** Opens a lane, which is done once. */
  WorkerLane lane(int number, LaneMemory memory);

  /** The same with so much host memory of this process's own. */
  WorkerLane spareLane(int number, long hostBytes);

  /** Whether so much device memory can be taken without anybody's lacking it. */
  default boolean hasFree(long bytes) {
    return true;
  }

  /** The server's memory that runs use; none where it has none for workers. */
  ServerMemory serverMemory();

  /** The weights of a run. */
  WorkerArrivals arrivals(Message.Run run, ChannelEnd end, WorkerSession session);

  /** What a session's constants may grow by after it is built. */
  long sparedBytes();

  /** How long a lane's thread stays awake for its next run. */
  default long awakeNanos() {
    return 0;
  }

  /** Sees whether the device still does anything for this process. */
  default void check() {}

  /** Gives back host memory that the server has closed, where any is opened. */
  default void tidy() {}

  /** Gives back what the server has given back of its states, for whoever needs device memory. */
  default void tidyStates() {}

  /** Gives everything back that the process has of the device; nothing runs, nothing will. */
  default void release() {}
}
