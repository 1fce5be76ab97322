package io.pipelane.lanes;

import java.util.List;

/** The handle by which worker processes open a device, as words of a command line. */
public interface DeviceExport {
  /** The process that has the device. */
  long process();

  /** What tells one kind of device from the others. */
  String kind();

  /** Whether the device may still compute for a run that stands at a gate. */
  boolean computesBehindGates();

  /** The words; the record of the kind reads them. */
  List<String> toList();
}
