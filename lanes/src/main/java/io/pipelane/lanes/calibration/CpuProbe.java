package io.pipelane.lanes.calibration;

import io.pipelane.lanes.calibration.Calibration.ProductRate;
import java.util.Optional;

/** Measures the processor, which maps at once and launches nothing. */
public final class CpuProbe implements DeviceProbe {
  private static final int WIDTH = 512;
  private static final int PRODUCTS = 16;

  private final MatrixProducts products;

  public CpuProbe(MatrixProducts products) {
    this.products = products;
  }

  @Override
  public void awaitMappings() {}

  @Override
  public Optional<Double> launchNanos() {
    return Optional.empty();
  }

  @Override
  public Optional<ProductRate> products() {
    return products.measure(WIDTH, PRODUCTS);
  }
}
