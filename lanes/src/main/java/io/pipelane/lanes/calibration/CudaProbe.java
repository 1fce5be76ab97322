package io.pipelane.lanes.calibration;

import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.calibration.Calibration.ProductRate;
import io.pipelane.lanes.cuda.driver.CapturedGraph;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.ExecutableGraph;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * The probe of a GPU: launches are measured through the driver, products through cuBLAS or else
 * ONNX Runtime.
 */
public final class CudaProbe implements DeviceProbe {
  private static final System.Logger LOG = System.getLogger(CudaProbe.class.getName());
  private static final int LAUNCHES = 200;
  private static final int ROUNDS = 3;
  private static final long FILLED_BYTES = 256;
  private static final int WIDTH = 2048;
  private static final int PRODUCTS = 128;

  private final CudaContext context;
  private final PersistentMemory memory;
  private final Runnable mappings;
  private final MatrixProducts onnxRuntime;
  private final LongSupplier nanoClock;

  /**
   * Measures later.
   *
   * @param memory of the same device
   * @param mappings blocks until the device's mappings have been carried out
   * @param onnxRuntime multiplies where cuBLAS cannot be loaded
   */
  public CudaProbe(
      CudaContext context,
      PersistentMemory memory,
      Runnable mappings,
      MatrixProducts onnxRuntime,
      LongSupplier nanoClock) {
    this.context = context;
    this.memory = memory;
    this.mappings = mappings;
    this.onnxRuntime = onnxRuntime;
    this.nanoClock = nanoClock;
  }

  @Override
  public void awaitMappings() {
    mappings.run();
  }

  /** A graph of one memory fill, launched many times in a row. */
  @Override
  public Optional<Double> launchNanos() {
    context.bind();
    try (PersistentMemory.Account account = memory.open("calibration", 1 << 20);
        CudaStream stream = CudaStream.open(context)) {
      long address = account.allocate(FILLED_BYTES);
      stream.beginCapture();
      stream.fill(address, (byte) 0, FILLED_BYTES);
      try (CapturedGraph captured = stream.endCapture();
          ExecutableGraph graph = captured.instantiate()) {
        double best = Double.POSITIVE_INFINITY;
        for (int round = 0; round < ROUNDS; round++) {
          stream.synchronize();
          long begin = nanoClock.getAsLong();
          for (int i = 0; i < LAUNCHES; i++) {
            stream.launch(graph);
          }
          stream.synchronize();
          best = Math.min(best, (double) (nanoClock.getAsLong() - begin) / LAUNCHES);
        }
        return Optional.of(best);
      }
    }
  }

  @Override
  public Optional<ProductRate> products() {
    context.bind();
    try {
      return Optional.of(new CublasProducts(memory, nanoClock).measure());
    } catch (LinkageError | IllegalStateException e) {
      LOG.log(Level.DEBUG, "cuBLAS is not used: {0}", e.getMessage());
    }
    return onnxRuntime.measure(WIDTH, PRODUCTS);
  }
}
