package io.pipelane.lanes.calibration;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.calibration.Calibration.ProductRate;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.NoDeviceMemory;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A measurement of FP32 matrix products through ONNX Runtime. Two chains of different length are
 * run, and the difference of their times is that of the products alone.
 */
public final class MatrixProducts {
  private static final int SHORT_CHAIN = 2;
  private static final int RUNS = 3;

  private static final System.Logger LOG = System.getLogger(MatrixProducts.class.getName());

  private final Supplier<Path> library;
  private final ExecutionProvider provider;
  private final LongSupplier nanoClock;

  /**
   * Measures later.
   *
   * @param library locates ONNX Runtime's; no environment is open in the process meanwhile
   * @param provider what multiplies
   */
  public MatrixProducts(
      Supplier<Path> library, ExecutionProvider provider, LongSupplier nanoClock) {
    this.library = library;
    this.provider = provider;
    this.nanoClock = nanoClock;
  }

  /**
   * Multiplies square matrices.
   *
   * @param width of the matrices
   * @param products in the longer chain
   * @return empty when ONNX Runtime or its provider cannot be loaded; the log says why
   */
  public Optional<ProductRate> measure(int width, int products) {
    try {
      return Optional.of(measured(width, products));
    } catch (StatusException | IOException | UncheckedIOException e) {
      LOG.log(Level.WARNING, "matrix products are not measured: {0}", e.getMessage());
      return Optional.empty();
    }
  }

  private ProductRate measured(int width, int products) throws IOException {
    try (OrtEnvironment environment = OrtEnvironment.open(library.get(), new NoDeviceMemory())) {
      double base = nanos(environment, width, SHORT_CHAIN);
      double all = nanos(environment, width, SHORT_CHAIN + products);
      double operations = 2.0 * width * width * width * products;
      return new ProductRate(
          operations / Math.max(1, all - base) * 1e9,
          "ONNX Runtime %s, %s, %d x %d"
              .formatted(environment.version(), provider.name(), width, width));
    }
  }

  private double nanos(OrtEnvironment environment, int width, int products) throws IOException {
    Path model = Files.createTempFile("pipelane-products", ".onnx");
    try (Arena arena = Arena.ofConfined()) {
      Files.write(model, chain(width, products).toByteArray());
      MemorySegment values = arena.allocate(ValueLayout.JAVA_FLOAT, (long) width * width);
      for (long i = 0; i < (long) width * width; i++) {
        values.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1f / width);
      }
      SessionSettings settings = SessionSettings.plain(1).withProvider(provider);
      Shape square = Shape.of(width, width);
      try (OrtSession session = environment.open(model, settings);
          OrtTensor matrix =
              OrtTensor.over(
                  environment, values.address(), values.byteSize(), TensorType.FP32, square);
          IoBinding binding = session.newBinding()) {
        binding.input("x", matrix);
        binding.input("w", matrix);
        run(binding);
        long best = Long.MAX_VALUE;
        for (int i = 0; i < RUNS; i++) {
          long begin = nanoClock.getAsLong();
          run(binding);
          best = Math.min(best, nanoClock.getAsLong() - begin);
        }
        return best;
      }
    } finally {
      Files.deleteIfExists(model);
    }
  }

  private static void run(IoBinding binding) {
    binding.output("y");
    binding.run(gate -> {});
    binding.outputs().forEach(OrtTensor::close);
    binding.clearOutputs();
  }

  /** {@code y = x · w · w · ...}. */
  private static ModelProto chain(int width, int products) {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .setName("products")
            .addInput(square("x", width))
            .addInput(square("w", width))
            .addOutput(square("y", width));
    String last = "x";
    for (int i = 1; i <= products; i++) {
      String next = i == products ? "y" : "p" + i;
      graph.addNode(
          NodeProto.newBuilder().setOpType("MatMul").addInput(last).addInput("w").addOutput(next));
      last = next;
    }
    return ModelProto.newBuilder()
        .setIrVersion(8)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setVersion(17))
        .setGraph(graph)
        .build();
  }

  private static ValueInfoProto square(String name, int width) {
    TensorShapeProto.Dimension dimension =
        TensorShapeProto.Dimension.newBuilder().setDimValue(width).build();
    TypeProto.Tensor tensor =
        TypeProto.Tensor.newBuilder()
            .setElemType(TensorProto.DataType.FLOAT.getNumber())
            .setShape(TensorShapeProto.newBuilder().addDim(dimension).addDim(dimension))
            .build();
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(TypeProto.newBuilder().setTensorType(tensor))
        .build();
  }
}
