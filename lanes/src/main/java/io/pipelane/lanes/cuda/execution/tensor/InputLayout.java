package io.pipelane.lanes.cuda.execution.tensor;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The layout of a run's inputs in one block of memory; it depends on their names, types and shapes
 * alone.
 *
 * @param byteSize of the block, at least 1: an empty tensor needs an address too
 */
public record InputLayout(List<Slot> slots, long byteSize) {
  /** What libraries expect of memory that was allocated on its own. */
  public static final long ALIGNMENT = 256;

  /** One input and its distance from the beginning of the block. */
  public record Slot(InputTensor tensor, long offset) {
    long end() {
      return offset + tensor.data().byteSize();
    }
  }

  /** A size rounded up to the alignment. */
  static long aligned(long bytes) {
    return Math.addExact(bytes, ALIGNMENT - 1) & -ALIGNMENT;
  }

  /** What the inputs take that come from the host, each rounded up to the alignment. */
  long hostBytes() {
    return slots.stream()
        .map(Slot::tensor)
        .filter(tensor -> !tensor.onDevice())
        .mapToLong(tensor -> aligned(tensor.data().byteSize()))
        .sum();
  }

  /**
   * Lays inputs out.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when an input's data has another size
   *     than its shape
   */
  public static InputLayout of(List<InputTensor> inputs) {
    List<Slot> slots = new ArrayList<>(inputs.size());
    long offset = 0;
    for (InputTensor input :
        inputs.stream().sorted(Comparator.comparing(InputTensor::name)).toList()) {
      long expected = Math.multiplyExact(input.shape().elements(), input.type().byteWidth());
      if (input.data().byteSize() != expected) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "input \"%s\" has %d bytes; %s of shape %s takes %d"
                .formatted(
                    input.name(), input.data().byteSize(), input.type(), input.shape(), expected));
      }
      slots.add(new Slot(input, offset));
      offset = Math.addExact(offset, aligned(expected));
    }
    long end = slots.isEmpty() ? 0 : slots.getLast().end();
    return new InputLayout(List.copyOf(slots), Math.max(1, end));
  }
}
