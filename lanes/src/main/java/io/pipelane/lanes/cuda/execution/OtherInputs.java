package io.pipelane.lanes.cuda.execution;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.RelativeError;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A second request made of the first. It has the same elements in the opposite order, so that
 * indices and masks stay what models expect of them. Floats that read the same from both ends
 * change their sign.
 */
final class OtherInputs {
  private OtherInputs() {}

  /**
   * Inputs of the same shapes.
   *
   * @param arena that their data is taken from
   * @return empty when nothing can be made to differ, e.g. of a text of one repeated word
   */
  static Optional<List<InputTensor>> of(List<InputTensor> inputs, Arena arena) {
    List<InputTensor> others = new ArrayList<>(inputs.size());
    boolean differ = false;
    for (InputTensor input : inputs) {
      MemorySegment data = other(input, arena);
      differ |= input.data().mismatch(data) >= 0;
      others.add(new InputTensor(input.name(), input.type(), input.shape(), data));
    }
    return differ ? Optional.of(others) : Optional.empty();
  }

  private static MemorySegment other(InputTensor input, Arena arena) {
    int width = input.type().byteWidth();
    long bytes = input.data().byteSize();
    MemorySegment reversed = arena.allocate(bytes, 64);
    for (long at = 0; at < bytes; at += width) {
      MemorySegment.copy(input.data(), at, reversed, bytes - width - at, width);
    }
    if (RelativeError.isFloat(input.type()) && input.data().mismatch(reversed) < 0) {
      negate(reversed, width);
    }
    return reversed;
  }

  /** Flips the sign, which is the highest bit of every float's last byte. */
  private static void negate(MemorySegment floats, int width) {
    for (long at = width - 1L; at < floats.byteSize(); at += width) {
      byte highest = floats.get(JAVA_BYTE, at);
      floats.set(JAVA_BYTE, at, (byte) (highest ^ 0x80));
    }
  }
}
