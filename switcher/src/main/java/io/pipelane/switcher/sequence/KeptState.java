package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The state that one sequence keeps from one step to the next. Belongs to one thread after another.
 *
 * <p>On a device a step writes a number behind its outputs: how many steps have been made. Tensors
 * have two copies each, and change them with each step, so the number says which are whole,
 * whatever has become of the process that ran the step.
 */
final class KeptState {
  private final StateMemory memory;
  private final Map<String, StateTensor> tensors = new LinkedHashMap<>();
  private int steps;

  /** Null in host memory, which no device writes to, and while the state is written out. */
  private @Nullable State number;

  /**
   * A state of zeros.
   *
   * @param rows what open dimensions are
   * @throws StatusException as {@link StateMemory#reserve}
   */
  KeptState(StateMemory memory, StatePairs pairs, long rows) {
    this.memory = memory;
    try {
      for (Map.Entry<String, TensorSpec> pair : pairs.inputs().entrySet()) {
        tensors.put(pair.getKey(), new StateTensor(memory, pair.getValue(), rows));
      }
      takeMemory(bytes -> memory.reserve(bytes, 0));
      if (memory.isOnDevice()) {
        number = memory.takeWord();
      }
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private void takeMemory(LongConsumer reserve) {
    if (!lacksMemory()) {
      return;
    }
    reserve.accept(lackingBytes());
    try {
      tensors.values().forEach(StateTensor::takeMemory);
    } catch (RuntimeException | Error e) {
      memory.release(lackingBytes());
      throw e;
    }
  }

  private long heldBytes() {
    return tensors.values().stream().mapToLong(StateTensor::heldBytes).sum();
  }

  private long lackingBytes() {
    return tensors.values().stream().mapToLong(StateTensor::lackingBytes).sum();
  }

  /** Begins with what is given, which fits, instead of zeros; before the first step. */
  void begin(InputTensor given) {
    for (StateTensor tensor : tensors.values()) {
      if (tensor.name().equals(given.name())) {
        tensor.begin(given, this::heldBytes);
      }
    }
  }

  /** The outputs that become it. */
  Set<String> outputs() {
    return tensors.keySet();
  }

  /** What the next step reads. */
  List<InputTensor> inputs() {
    return tensors.values().stream().map(StateTensor::input).toList();
  }

  /** What the next step writes when its outputs are there, where a device does that. */
  Optional<StateNumber> nextNumber() {
    return Optional.ofNullable(number).map(word -> new StateNumber(word.memory(), steps + 1));
  }

  /** Where an output goes; null when it is none of the state. */
  @Nullable MemorySegment place(String output, Shape shape, long byteSize) {
    StateTensor tensor = tensors.get(output);
    return tensor == null ? null : tensor.place(shape, byteSize, this::heldBytes);
  }

  /** The step has succeeded, and everything is placed. */
  void advance() {
    steps++;
    tensors.values().forEach(StateTensor::advance);
  }

  /** What the next step reads, in host memory, for as long as an arena. */
  List<InputTensor> onHost(Arena arena) {
    requireWhole();
    List<InputTensor> all = new ArrayList<>(tensors.size());
    tensors.values().forEach(tensor -> all.add(tensor.onHost(arena)));
    return all;
  }

  /** A step whose answer was lost with its process has written the number, and does not count. */
  private void requireWhole() {
    State word = number;
    if (word == null) {
      return;
    }
    int written;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment read = arena.allocate(ValueLayout.JAVA_INT);
      word.read(read);
      written = read.get(ValueLayout.JAVA_INT, 0);
    }
    if (written != steps && written != steps + 1) {
      throw new StatusException(
          Status.DEVICE_FAILURE,
          "a state says that it has seen %d steps, and has seen %d".formatted(written, steps));
    }
  }

  /** Whether {@link #bringBack} has something to do before the next step. */
  boolean lacksMemory() {
    return tensors.values().stream().anyMatch(StateTensor::lacksMemory);
  }

  /** Whether all of it waits on the host, so that there is nothing to write out. */
  boolean isWrittenOut() {
    return tensors.values().stream().allMatch(StateTensor::isWrittenOut);
  }

  /**
   * Gives all its working memory up until it is brought back; between steps.
   *
   * @param onHost takes host memory, if there is any
   * @return false when it had none, or the host has no room for all of it; nothing is changed then
   */
  boolean writeOut(LongPredicate onHost) {
    requireWhole();
    long bytes = leavingBytes();
    if (bytes == 0 || !onHost.test(bytes)) {
      return false;
    }
    try {
      tensors.values().forEach(StateTensor::writeOut);
    } catch (RuntimeException | Error e) {
      memory.giveHostBack(leavingBytes()); // What has left already waits there until the rest does.
      throw e;
    }
    giveBackNumber();
    return true;
  }

  private long leavingBytes() {
    return tensors.values().stream().mapToLong(StateTensor::leavingBytes).sum();
  }

  /**
   * Has working memory again, for a step.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when there is no room; nothing is lost then
   */
  void bringBack() {
    if (lacksMemory() && memory.neverFits(lackingBytes(), heldBytes())) {
      boolean _ = writeOut(memory::takeOnHost); // More than two thirds are for who has nothing yet.
    }
    takeMemory(bytes -> memory.reserveInExchange(bytes, heldBytes()));
    if (number == null && memory.isOnDevice()) {
      number = newNumber();
    }
  }

  private State newNumber() {
    State word = memory.takeWord();
    try (Arena arena = Arena.ofConfined()) {
      word.write(arena.allocateFrom(ValueLayout.JAVA_INT, steps));
      return word;
    } catch (RuntimeException | Error e) {
      word.close();
      throw e;
    }
  }

  private void giveBackNumber() {
    if (number != null) {
      number.close();
      number = null;
    }
  }

  /** Gives everything back; no step is under way. */
  void close() {
    giveBackNumber();
    tensors.values().forEach(StateTensor::close);
    tensors.clear();
  }
}
