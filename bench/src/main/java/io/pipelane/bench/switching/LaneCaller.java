package io.pipelane.bench.switching;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A caller that runs a session in a lane again and again, on the calling thread, with the same
 * inputs.
 */
final class LaneCaller implements Invocation {
  private final ModelSession session;
  private final EphemeralRegion lane;
  private final List<InputTensor> inputs;
  private final List<String> outputs;
  private final Map<String, MemorySegment> answers = new HashMap<>();
  private final Accelerator accelerator;

  LaneCaller(
      ModelSession session,
      EphemeralRegion lane,
      ImportedModel model,
      List<Tensor> inputs,
      Accelerator accelerator) {
    this.session = session;
    this.lane = lane;
    this.accelerator = accelerator;
    this.inputs = inputs.stream().map(input -> pinned(input, accelerator)).toList();
    outputs = model.plan().outputs().stream().map(TensorSpec::name).toList();
  }

  private static InputTensor pinned(Tensor input, Accelerator accelerator) {
    MemorySegment data = accelerator.pinned(input.data().remaining());
    data.copyFrom(MemorySegment.ofBuffer(input.data()));
    return new InputTensor(input.name(), input.type(), input.shape(), data);
  }

  /** Runs once; returns when the outputs are there. */
  void run(WeightArrivals weights) {
    session.run(this, lane, bytes -> false, weights);
  }

  @Override
  public List<InputTensor> inputs() {
    return inputs;
  }

  @Override
  public List<String> outputs() {
    return outputs;
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    return answers.computeIfAbsent(name, _ -> accelerator.pinned(byteSize));
  }

  @Override
  public void placed() {
    // The run's end is awaited.
  }
}
