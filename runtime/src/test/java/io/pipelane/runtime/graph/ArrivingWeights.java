package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.DeviceAllocator;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.content.Constants;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.TensorContent;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;

/** Runs models plain and gated; gated, a weight is garbage until the gate before it is reached. */
final class ArrivingWeights implements AutoCloseable {
  private static final Path CACHE = Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test");

  private final OrtEnvironment environment =
      OrtEnvironment.open(OrtLibrary.locate(Optional.empty(), CACHE), new NoAllocator());
  private final Path folder;

  ArrivingWeights(Path folder) {
    this.folder = folder;
  }

  /** The optimised form of a model, as import sees it. */
  ModelFile optimize(Path model) throws IOException {
    Path optimized = folder.resolve("optimized.onnx");
    SessionSettings settings =
        SessionSettings.plain(1).withOptimizedModel(Optimization.ALL, optimized);
    environment.open(model, settings).close();
    return Constants.toInitializers(ModelFile.read(optimized));
  }

  /** Outputs of a plain session, in order. */
  List<float[]> plain(Path model, long openDimension) {
    try (OrtSession session = environment.open(model, SessionSettings.plain(1));
        Arena arena = Arena.ofConfined()) {
      return run(session, inputs(session.inputs(), openDimension, arena), gate -> {});
    }
  }

  /** Outputs of a gated graph whose weights arrive gate by gate, but for those read in place. */
  List<float[]> gated(
      GatedGraph gated, Map<String, TensorProto> weights, Path source, long openDimension)
      throws IOException {
    Path file = folder.resolve("gated.onnx");
    ModelFile.write(gated.model(), file);
    SessionSettings settings =
        new SessionSettings(
            ExecutionProvider.CPU, Optimization.NONE, 1, Optional.empty(), false, Map.of());
    try (OrtSession session = environment.open(file, settings);
        Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(Math.max(64, gated.weightBytes()), 64);
      memory.fill((byte) 0x7f);
      int own = session.inputs().size() - gated.weights().size() - gated.inPlace().size();
      Map<String, OrtTensor> feeds = inputs(session.inputs().subList(0, own), openDimension, arena);
      for (Weight weight : gated.weights()) {
        feeds.put(
            weight.name(),
            OrtTensor.over(
                environment,
                memory.address() + weight.offset(),
                weight.byteSize(),
                weight.type(),
                weight.shape()));
      }
      for (InPlaceWeight weight : gated.inPlace()) {
        MemorySegment table = arena.allocate(weight.byteSize(), GatedGraph.ALIGNMENT);
        table.copyFrom(content(weights, weight.name(), source));
        feeds.put(
            weight.name(),
            OrtTensor.over(
                environment, table.address(), weight.byteSize(), weight.type(), weight.shape()));
      }
      List<Integer> order = new ArrayList<>();
      arrive(gated, weights, source, memory, 0);
      List<float[]> result =
          run(
              session,
              feeds,
              gate -> {
                order.add(gate);
                arrive(gated, weights, source, memory, gate);
              });
      for (int i = 0; i < order.size(); i++) {
        if (order.get(i) != i + 1) {
          throw new AssertionError("gates were reached in the order " + order);
        }
      }
      return result;
    }
  }

  private static void arrive(
      GatedGraph gated,
      Map<String, TensorProto> weights,
      Path source,
      MemorySegment memory,
      int segment) {
    for (Weight weight : gated.weights()) {
      if (weight.segment() == segment) {
        memory
            .asSlice(weight.offset(), weight.byteSize())
            .copyFrom(content(weights, weight.name(), source));
      }
    }
  }

  private static MemorySegment content(Map<String, TensorProto> weights, String name, Path source) {
    java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
    try (WritableByteChannel channel = Channels.newChannel(bytes)) {
      TensorContent.of(Objects.requireNonNull(weights.get(name)), source).writeTo(channel);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    return MemorySegment.ofArray(bytes.toByteArray());
  }

  private List<float[]> run(
      OrtSession session, Map<String, OrtTensor> feeds, io.pipelane.runtime.GateListener listener) {
    try (IoBinding binding = session.newBinding()) {
      feeds.forEach(binding::input);
      session.outputs().forEach(output -> binding.output(output.name()));
      binding.run(listener);
      List<float[]> result = new ArrayList<>();
      for (OrtTensor output : binding.outputs()) {
        result.add(output.data().toArray(java.lang.foreign.ValueLayout.JAVA_FLOAT));
        output.close();
      }
      feeds.values().forEach(OrtTensor::close);
      return result;
    }
  }

  private Map<String, OrtTensor> inputs(List<TensorSpec> specs, long openDimension, Arena arena) {
    Random random = new Random(7);
    Map<String, OrtTensor> result = new HashMap<>();
    for (TensorSpec spec : specs) {
      long[] dimensions = spec.shape().toArray();
      for (int i = 0; i < dimensions.length; i++) {
        dimensions[i] = dimensions[i] < 0 ? openDimension : dimensions[i];
      }
      Shape shape = Shape.of(dimensions);
      MemorySegment data =
          arena.allocate(Math.max(1, shape.elements() * spec.type().byteWidth()), 64);
      for (long i = 0; i < shape.elements(); i++) {
        if (spec.type() == TensorType.FP32) {
          data.setAtIndex(
              java.lang.foreign.ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian());
        } else {
          data.set(java.lang.foreign.ValueLayout.JAVA_BYTE, i * spec.type().byteWidth(), (byte) 1);
        }
      }
      result.put(
          spec.name(),
          OrtTensor.over(environment, data.address(), data.byteSize(), spec.type(), shape));
    }
    return result;
  }

  /** How two models' names for the same thing compare: relative error over all outputs. */
  static double relativeError(List<float[]> expected, List<float[]> actual) {
    double difference = 0;
    double size = 0;
    for (int o = 0; o < expected.size(); o++) {
      for (int i = 0; i < expected.get(o).length; i++) {
        difference += Math.pow(expected.get(o)[i] - actual.get(o)[i], 2);
        size += Math.pow(expected.get(o)[i], 2);
      }
    }
    return Math.sqrt(difference / Math.max(size, Double.MIN_NORMAL));
  }

  static ModelFile inMemory(ModelProto model) {
    return Constants.toInitializers(new ModelFile(model, CACHE));
  }

  @Override
  public void close() {
    environment.close();
  }

  private static final class NoAllocator implements DeviceAllocator {
    @Override
    public long allocate(long bytes) {
      return 0;
    }

    @Override
    public void free(long address) {}
  }
}
