package io.pipelane.lanes.cpu;

/**
 * What a worker process maps of a device: the pages, and the table of what lies under which slot.
 *
 * @param process the process that has the device
 * @param pages the descriptor of all pages' memory there
 * @param slotTable the descriptor of the table there
 */
public record CpuExport(
    long process, int pages, long pageBytes, int slotTable, long slotTableBytes) {

  /**
   * The part of the table that belongs to one range.
   *
   * @param range a number that no other range of the device has or will have
   * @param offset where it begins, in bytes
   */
  public record Slots(long range, long offset, int count) {}
}
