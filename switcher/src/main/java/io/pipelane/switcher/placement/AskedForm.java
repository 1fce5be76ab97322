package io.pipelane.switcher.placement;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.MadeUpNumbers;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/** The form of a request: all of it but its numbers. */
record AskedForm(List<Input> inputs, List<String> outputs) {
  private static final int ALIGNMENT = 64;
  private static final int SEED = 20260101;

  /** What may be made up for a request. */
  private static final long MOST_BYTES = 64L << 20;

  /** An input without its data. */
  record Input(String name, TensorType type, Shape shape, long byteSize) {
    static Input of(InputTensor tensor) {
      return new Input(tensor.name(), tensor.type(), tensor.shape(), tensor.data().byteSize());
    }

    private boolean looksLike(InputTensor tensor) {
      return name.equals(tensor.name())
          && type == tensor.type()
          && byteSize == tensor.data().byteSize()
          && shape.equals(tensor.shape());
    }

    private boolean canBeMadeUp() {
      return type != TensorType.BYTES;
    }
  }

  static AskedForm of(InferenceRequest request) {
    return new AskedForm(
        request.inputs().stream().map(Input::of).toList(), List.copyOf(request.outputs()));
  }

  /** Whether a request looks so, too; makes nothing. */
  boolean isOf(InferenceRequest request) {
    List<InputTensor> tensors = request.inputs();
    if (tensors.size() != inputs.size() || !outputs.equals(request.outputs())) {
      return false;
    }
    for (int i = 0; i < tensors.size(); i++) {
      if (!inputs.get(i).looksLike(tensors.get(i))) {
        return false;
      }
    }
    return true;
  }

  /**
   * Such a request with made-up numbers, as offline work; none where there are types of which none
   * can be made up, such as strings, or very much would have to be.
   *
   * @param arena where its inputs lie
   */
  Optional<InferenceRequest> madeUp(ModelVersion version, Arena arena) {
    if (!inputs.stream().allMatch(Input::canBeMadeUp)
        || inputs.stream().mapToLong(Input::byteSize).sum() > MOST_BYTES) {
      return Optional.empty();
    }
    Random random = new Random(SEED);
    List<InputTensor> tensors =
        inputs.stream()
            .map(
                input -> {
                  MemorySegment data = arena.allocate(input.byteSize, ALIGNMENT);
                  MadeUpNumbers.fill(input.type, data, random);
                  return new InputTensor(input.name, input.type, input.shape, data);
                })
            .toList();
    return Optional.of(new InferenceRequest(version, tensors, outputs).offline());
  }
}
