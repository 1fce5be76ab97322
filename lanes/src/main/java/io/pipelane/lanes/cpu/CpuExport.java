package io.pipelane.lanes.cpu;

import io.pipelane.lanes.DeviceExport;
import java.util.List;

/**
 * The parts of a device that a worker process maps: the pages, the table of what lies under which
 * slot, and the states.
 *
 * @param process which has the device
 * @param pages the descriptor of all pages' memory there
 * @param slotTable the descriptor of the table there
 * @param states the descriptor of the states' memory there
 */
public record CpuExport(
    long process, int pages, long pageBytes, int slotTable, long slotTableBytes, int states)
    implements DeviceExport {
  public static final String KIND = "cpu";

  @Override
  public String kind() {
    return KIND;
  }

  @Override
  public boolean computesBehindGates() {
    return false;
  }

  @Override
  public List<String> toList() {
    return List.of(
        Long.toString(process),
        Integer.toString(pages),
        Long.toString(pageBytes),
        Integer.toString(slotTable),
        Long.toString(slotTableBytes),
        Integer.toString(states));
  }

  /** Reads what {@link #toList} has written. */
  public static CpuExport of(List<String> words) {
    return new CpuExport(
        Long.parseLong(words.get(0)),
        Integer.parseInt(words.get(1)),
        Long.parseLong(words.get(2)),
        Integer.parseInt(words.get(3)),
        Long.parseLong(words.get(4)),
        Integer.parseInt(words.get(5)));
  }
}
