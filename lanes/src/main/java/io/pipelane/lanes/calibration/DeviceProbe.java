package io.pipelane.lanes.calibration;

import io.pipelane.lanes.calibration.Calibration.ProductRate;
import java.util.Optional;

/** A probe for what is measured of each kind of device in its own way. */
public interface DeviceProbe {
  /** Blocks until every mapping asked for has been carried out. */
  void awaitMappings();

  /** What launching work costs, in nanoseconds; empty where nothing is launched. */
  Optional<Double> launchNanos();

  /** The rate of FP32 matrix products; empty where it cannot be measured. */
  Optional<ProductRate> products();
}
