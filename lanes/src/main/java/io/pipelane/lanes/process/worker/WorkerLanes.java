package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.process.channel.LaneMemory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The lanes of this process, each opened once. Safe for any thread. */
final class WorkerLanes {
  private final WorkerDevice device;
  private final Map<Integer, WorkerLane> opened = new ConcurrentHashMap<>();
  private final Map<Integer, WorkerLane> spares = new ConcurrentHashMap<>();

  WorkerLanes(WorkerDevice device) {
    this.device = device;
  }

  /** A lane, opened by its first run here or beforehand: its memory is always the same. */
  WorkerLane open(int number, LaneMemory memory) {
    return opened.computeIfAbsent(number, _ -> device.lane(number, memory));
  }

  /** The same with host memory of this process's own, for runs that nobody has asked for. */
  WorkerLane spare(int number, LaneMemory memory) {
    return spares.computeIfAbsent(number, _ -> device.spareLane(number, memory.hostBytes()));
  }

  /** How far the allocations of a lane's last run reached; 0 where it is not opened. */
  long peakBytes(int number) {
    @Nullable WorkerLane lane = opened.get(number);
    return lane == null ? 0 : lane.region().peakBytes();
  }
}
