package io.pipelane.lanes.calibration;

import io.pipelane.lanes.calibration.Calibration.ProductRate;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The probe of the processor, which maps at once and launches nothing. */
public final class CpuProbe implements DeviceProbe {
  private static final int WIDTH = 512;
  private static final int PRODUCTS = 16;

  private final @Nullable MatrixProducts products;

  /** Measures all there is. */
  public CpuProbe(MatrixProducts products) {
    this.products = products;
  }

  private CpuProbe() {
    products = null;
  }

  /** Leaves products out, which need ONNX Runtime to themselves. */
  public static CpuProbe withoutProducts() {
    return new CpuProbe();
  }

  @Override
  public void awaitMappings() {}

  @Override
  public Optional<Double> launchNanos() {
    return Optional.empty();
  }

  @Override
  public Optional<ProductRate> products() {
    return products == null ? Optional.empty() : products.measure(WIDTH, PRODUCTS);
  }
}
