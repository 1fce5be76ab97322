package io.pipelane.bench.workers;

import io.pipelane.bench.measure.Timing;
import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.allocation.ExportedSlots;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.WorkerMemory;
import io.pipelane.lanes.cpu.WorkerRange;
import java.util.ArrayList;
import java.util.List;

/**
 * What it takes a worker to have the pages of one model at its addresses, group by group: with the
 * device's memory opened once for all, as workers do, or opened anew for each group (PipeSwitch
 * §6.3, no IPC optimization). The pages are a device's of this process, and so are the mappings: it
 * costs no message to pass a handle.
 */
final class HandleImports implements AutoCloseable {
  /** A group's bytes {@code [begin, end)} in the model's weights. */
  private record Group(long begin, long end) {}

  private final List<Group> groups = new ArrayList<>();
  private final CpuDevice device;
  private final ExportedSlots slots;
  private final WorkerMemory opened;

  /**
   * Lends a model all its pages.
   *
   * @param groupBytes what each of the copies moves that bring the model in, in their order
   */
  HandleImports(List<Long> groupBytes, long pageBytes) {
    long end = 0;
    for (long bytes : groupBytes) {
      groups.add(new Group(end, end + bytes));
      end += bytes;
    }
    long memory = Math.ceilDiv(end, pageBytes) * pageBytes;
    device =
        CpuDevice.openForWorkers(
            new ByteSize(memory), new ByteSize(pageBytes), Bandwidth.UNLIMITED);
    AddressRange range = device.reserve(memory);
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    slots = device.slotsAt(range.address());
    opened = new WorkerMemory(device.export());
  }

  /** Milliseconds to map all groups, one by one, of memory that is open. */
  double openedOnceMillis() throws Exception {
    WorkerRange range = opened.range(slots);
    try {
      return Timing.millis(() -> groups.forEach(group -> range.map(group.begin, group.end)));
    } finally {
      opened.giveBack(slots);
    }
  }

  /**
   * Milliseconds to do the same when each group's handle is exported, opened and given addresses.
   */
  double openedPerGroupMillis() throws Exception {
    List<WorkerMemory> imports = new ArrayList<>();
    try {
      return Timing.millis(
          () -> {
            for (Group group : groups) {
              WorkerMemory imported = new WorkerMemory(device.export());
              imports.add(imported);
              imported.range(slots).map(group.begin, group.end);
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
