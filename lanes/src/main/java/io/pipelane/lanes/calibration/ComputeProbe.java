package io.pipelane.lanes.calibration;

import io.pipelane.lanes.calibration.Calibration.ProductRate;
import java.util.Optional;

/** Measures a device's arithmetic, each device in its own way. */
public interface ComputeProbe {
  /** What launching work costs, in nanoseconds; empty where nothing is launched. */
  Optional<Double> launchNanos();

  /** The rate of FP32 matrix products; empty where it cannot be measured. */
  Optional<ProductRate> products();
}
