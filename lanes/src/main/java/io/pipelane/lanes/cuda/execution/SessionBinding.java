package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout.Slot;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.Plan.StreamedWeight;
import io.pipelane.runtime.GateListener;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.StringTensors;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A session with its weights bound by address, ready to be given inputs. Belongs to its lane's
 * thread.
 */
final class SessionBinding implements AutoCloseable {
  private final OrtEnvironment environment;
  private final OrtSession session;
  private final List<InPlaceWeight> inPlace;
  private final Map<String, OrtTensor> weights = new LinkedHashMap<>();
  private long inPlaceAddress;

  /** Null until it is needed, and after a run that failed. */
  private @Nullable IoBinding binding;

  /**
   * Takes over a session.
   *
   * @param plan of its model
   * @param address where the weights begin that are streamed
   * @throws StatusException {@link Status#UNIMPLEMENTED} when a weight is read on the host
   */
  SessionBinding(OrtEnvironment environment, OrtSession session, Plan plan, long address) {
    this.environment = environment;
    this.session = session;
    this.inPlace = plan.inPlace();
    try {
      plan.weights().forEach(weight -> bindAt(address, weight));
      inPlace.forEach(weight -> requireOnDevice(weight.name()));
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private void bindAt(long address, StreamedWeight weight) {
    requireOnDevice(weight.name());
    weights.put(
        weight.name(),
        OrtTensor.over(
            environment,
            address + weight.offset(),
            weight.byteSize(),
            weight.type(),
            weight.shape()));
  }

  private void requireOnDevice(String weight) {
    if (session.hostInputs().contains(weight)) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "weight \"" + weight + "\" is read on the host and cannot be streamed; import it again");
    }
  }

  /**
   * Has the next runs read in place from an address on, where they did not before.
   *
   * @param address of pinned host memory, or on the device; anything where nothing is read in place
   */
  void readInPlaceAt(long address) {
    if (address == inPlaceAddress) {
      return;
    }
    inPlaceAddress = 0; // Should one of them fail, the next run binds all of them.
    for (InPlaceWeight weight : inPlace) {
      OrtTensor tensor =
          OrtTensor.over(
              environment,
              address + weight.offset(),
              weight.byteSize(),
              weight.type(),
              weight.shape());
      OrtTensor former = weights.put(weight.name(), tensor);
      if (binding != null) {
        binding.input(weight.name(), tensor);
      }
      if (former != null) {
        former.close();
      }
    }
    inPlaceAddress = address;
  }

  /** Whether an input is read on the host, and so is bound there. */
  boolean isOnHost(InputTensor input) {
    return input.type() == TensorType.BYTES || session.hostInputs().contains(input.name());
  }

  /** Whether some output is computed on the host. */
  boolean computesOnHost(List<String> outputs) {
    return outputs.stream().anyMatch(session.hostOutputs()::contains);
  }

  /**
   * Runs the session on the calling thread.
   *
   * @param hostInputs those that are read on the host
   * @param layout of the others, in a block of device memory
   * @param run runs what is bound
   * @return the outputs in the order of their names; close each, then {@link #release}
   */
  List<OrtTensor> run(
      List<InputTensor> hostInputs,
      InputLayout layout,
      long block,
      List<String> outputs,
      Consumer<IoBinding> run) {
    IoBinding bound = bind(hostInputs, layout, block, outputs);
    run.accept(bound);
    return bound.outputs();
  }

  /** The same on a stream that is being captured. */
  List<OrtTensor> enqueue(
      InputLayout layout, long block, List<String> outputs, GateListener gates) {
    return run(List.of(), layout, block, outputs, bound -> bound.enqueue(gates));
  }

  /** Lets go of the outputs of the last run. */
  void release() {
    if (binding == null) {
      return;
    }
    if (binding.isEnded()) {
      reset();
    } else {
      binding.clearOutputs();
    }
  }

  /** Forgets what is bound, after a run that failed. */
  void reset() {
    if (binding != null) {
      binding.close();
      binding = null;
    }
  }

  private IoBinding bind(
      List<InputTensor> hostInputs, InputLayout layout, long block, List<String> outputs) {
    IoBinding bound = withWeights();
    for (InputTensor input : hostInputs) {
      try (OrtTensor tensor = onHost(input)) {
        bound.input(input.name(), tensor);
      }
    }
    for (Slot slot : layout.slots()) {
      InputTensor input = slot.tensor();
      try (OrtTensor tensor =
          OrtTensor.over(
              environment,
              block + slot.offset(),
              input.data().byteSize(),
              input.type(),
              input.shape())) {
        bound.input(input.name(), tensor);
      }
    }
    bound.clearOutputs();
    outputs.forEach(bound::output);
    return bound;
  }

  private OrtTensor onHost(InputTensor input) {
    return input.type() == TensorType.BYTES
        ? StringTensors.decode(environment, input.data(), input.shape())
        : OrtTensor.onHost(environment, input.data(), input.type(), input.shape());
  }

  private IoBinding withWeights() {
    IoBinding current = binding;
    if (current == null) {
      current = session.newBinding();
      binding = current;
      weights.forEach(current::input);
    }
    return current;
  }

  @Override
  public void close() {
    reset();
    session.close();
    weights.values().forEach(OrtTensor::close);
  }
}
