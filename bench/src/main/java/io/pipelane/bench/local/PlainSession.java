package io.pipelane.bench.local;

import io.pipelane.bench.measure.Run;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.NoDeviceMemory;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongFunction;

/**
 * A model in an ONNX Runtime session of its own, as any user would run it: its weights inside, its
 * inputs and outputs in host memory. No other environment of ONNX Runtime is open meanwhile.
 */
public final class PlainSession implements Run, AutoCloseable {
  private final OrtEnvironment environment;
  private final OrtSession session;
  private final IoBinding binding;
  private final List<OrtTensor> inputs = new ArrayList<>();

  /** What the tensors lie in, which is to live as long. */
  private final List<MemorySegment> inputMemory = new ArrayList<>();

  /**
   * Opens a session of a model file.
   *
   * @param inputs those that are not given are zeros, as a state is at first, in every run
   * @param memory gives host memory of a size, once an input
   */
  public PlainSession(
      Path library,
      Path model,
      ExecutionProvider provider,
      List<Tensor> inputs,
      LongFunction<MemorySegment> memory) {
    environment = OrtEnvironment.open(library, new NoDeviceMemory());
    session = environment.open(model, SessionSettings.plain(1).withProvider(provider));
    binding = session.newBinding();
    Set<String> given = new HashSet<>();
    for (Tensor input : inputs) {
      MemorySegment data = memory.apply(input.data().remaining());
      data.copyFrom(MemorySegment.ofBuffer(input.data()));
      bind(input.name(), input.type(), input.shape(), data);
      given.add(input.name());
    }
    for (TensorSpec spec : session.inputs()) {
      if (!given.contains(spec.name())) {
        long bytes = Math.multiplyExact(spec.shape().elements(), (long) spec.type().byteWidth());
        bind(spec.name(), spec.type(), spec.shape(), memory.apply(bytes).fill((byte) 0));
      }
    }
  }

  private void bind(String name, TensorType type, Shape shape, MemorySegment data) {
    inputMemory.add(data);
    OrtTensor tensor = OrtTensor.over(environment, data.address(), data.byteSize(), type, shape);
    binding.input(name, tensor);
    inputs.add(tensor);
  }

  @Override
  public void run() {
    session.outputs().forEach(output -> binding.output(output.name()));
    binding.run(gate -> {});
    binding.outputs().forEach(OrtTensor::close);
  }

  /** Runs once and returns copies of the outputs' bytes by name. */
  public Map<String, byte[]> answer() {
    session.outputs().forEach(output -> binding.output(output.name()));
    binding.run(gate -> {});
    Map<String, byte[]> answer = new HashMap<>();
    List<OrtTensor> outputs = binding.outputs();
    for (int i = 0; i < outputs.size(); i++) {
      try (OrtTensor output = outputs.get(i)) {
        byte[] bytes = output.data().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
        answer.put(session.outputs().get(i).name(), bytes);
      }
    }
    return answer;
  }

  @Override
  public void close() {
    inputs.forEach(OrtTensor::close);
    binding.close();
    session.close();
    environment.close();
  }
}
