package io.pipelane.lanes.monitor;

import java.util.Map;
import java.util.Set;

/**
 * An error that a GPU's driver has reported, by NVIDIA's number of it.
 *
 * @param xid as the driver writes it into the system's log
 */
public record DeviceError(long xid) {
  private static final Map<Long, String> NAMES =
      Map.ofEntries(
          Map.entry(13L, "an exception in a kernel"),
          Map.entry(31L, "an access to memory that is not mapped"),
          Map.entry(43L, "a process's work was stopped"),
          Map.entry(45L, "a process's work was cleaned up"),
          Map.entry(48L, "a memory error of two bits"),
          Map.entry(63L, "a row of memory is replaced"),
          Map.entry(64L, "a row of memory cannot be replaced"),
          Map.entry(74L, "an error of NVLink"),
          Map.entry(79L, "the GPU has fallen off the bus"),
          Map.entry(92L, "many memory errors of one bit"),
          Map.entry(94L, "a memory error that is contained"),
          Map.entry(95L, "a memory error that is not contained"),
          Map.entry(119L, "the GPU's own processor does not answer"),
          Map.entry(120L, "an error of the GPU's own processor"));

  /**
   * What is left behind when a process has ended (which resetting a worker brings about), and what
   * is only noted for the next reset of the GPU.
   */
  private static final Set<Long> HARMLESS = Set.of(45L, 63L, 64L, 92L);

  /** Whether work that was on the device may never end, or be wrong. */
  public boolean endsWork() {
    return !HARMLESS.contains(xid);
  }

  @Override
  public String toString() {
    return "XID %d (%s)".formatted(xid, NAMES.getOrDefault(xid, "see NVIDIA's list of XID errors"));
  }
}
