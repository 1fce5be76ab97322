package io.pipelane.bench.workers;

import io.pipelane.bench.measure.Timing;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.WorkerMemory;
import io.pipelane.lanes.cpu.execution.WorkerRange;
import java.util.ArrayList;
import java.util.List;

/** The imports of the processor's memory: one handle is all of it. */
final class CpuHandleImports implements HandleImports {
  private final List<Group> groups;
  private final CpuDevice device;
  private final ExportedSlots slots;
  private final WorkerMemory opened;

  CpuHandleImports(List<Group> groups, long pageBytes) {
    this.groups = List.copyOf(groups);
    long end = groups.isEmpty() ? 0 : groups.getLast().end();
    long memory = Math.ceilDiv(end, pageBytes) * pageBytes;
    device =
        CpuDevice.openForWorkers(
            new ByteSize(memory), new ByteSize(pageBytes), Bandwidth.UNLIMITED);
    AddressRange range = device.reserve(memory);
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    range.settled(range.slots()).await();
    slots = device.slotsAt(range.address());
    opened = new WorkerMemory(device.export());
  }

  @Override
  public double openedOnceMillis() throws Exception {
    WorkerRange range = opened.range(slots);
    try {
      return Timing.millis(() -> groups.forEach(group -> range.map(group.begin(), group.end())));
    } finally {
      opened.giveBack(slots);
    }
  }

  /** The memory gets addresses of its own for each. */
  @Override
  public double openedPerGroupMillis() throws Exception {
    List<WorkerMemory> imports = new ArrayList<>();
    try {
      return Timing.millis(
          () -> {
            for (Group group : groups) {
              WorkerMemory imported = new WorkerMemory(device.export());
              imports.add(imported);
              imported.range(slots).map(group.begin(), group.end());
            }
          });
    } finally {
      // Their descriptors stay open, as a worker's do, until the program ends.
      imports.forEach(imported -> imported.giveBack(slots));
    }
  }

  @Override
  public void close() {
    device.close();
  }
}
