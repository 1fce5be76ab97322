package io.pipelane.lanes.monitor;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The critical errors of a GPU, by NVML's event sets. Belongs to one thread. */
final class XidEvents {
  /*
   * nvmlEventData_t: the device (a pointer), the event's type and data (64 bits each; of a critical
   * error the data is the XID), and two numbers of a part of the GPU.
   */
  private static final long XID_CRITICAL_ERROR = 8;
  private static final long EVENT_BYTES = 32;
  private static final long DATA = 16;
  private static final int AT_ONCE = 0;

  /** A GPU that reports more at once has more to tell at the next look. */
  private static final int MOST_EVENTS = 64;

  private final Nvml nvml;
  private final MemorySegment set;
  private final MemorySegment event;

  private XidEvents(Nvml nvml, MemorySegment set, MemorySegment event) {
    this.nvml = nvml;
    this.set = set;
    this.event = event;
  }

  /** Empty where the driver or the device reports no such errors. */
  static Optional<XidEvents> open(Nvml nvml, MemorySegment device, Arena arena) {
    MemorySegment set = arena.allocate(ADDRESS);
    if (nvml.call("nvmlEventSetCreate", set) != Nvml.SUCCESS) {
      return Optional.empty();
    }
    XidEvents events =
        new XidEvents(nvml, set.get(ADDRESS, 0), arena.allocate(EVENT_BYTES, Long.BYTES));
    if (nvml.call("nvmlDeviceRegisterEvents", device, XID_CRITICAL_ERROR, events.set)
        != Nvml.SUCCESS) {
      events.close();
      return Optional.empty();
    }
    return Optional.of(events);
  }

  /** What has been reported since the reading before; at once. */
  List<DeviceError> read() {
    List<DeviceError> errors = new ArrayList<>();
    while (errors.size() < MOST_EVENTS
        && nvml.call("nvmlEventSetWait_v2", set, event, AT_ONCE) == Nvml.SUCCESS) {
      errors.add(new DeviceError(event.get(JAVA_LONG, DATA)));
    }
    return errors;
  }

  void close() {
    nvml.call("nvmlEventSetFree", set);
  }
}
