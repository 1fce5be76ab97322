package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.switcher.NeverFits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
  /*
   * Charged is room for both copies of each tensor, as large as the largest has been, while the
   * state is on the device; on the host, for one of them. What was for a step that has failed goes
   * in front of the next. So what all states are charged for one copy rises when one begins or
   * grows, and then alone. Memory is taken for what is in a copy, and
   * may be missing where the device had none: the state is charged still, and takes it later.
   */
  private final StateMemory memory;
  private final Map<String, StateTensor> tensors = new LinkedHashMap<>();
  private int steps;

  /** Whether working memory is charged. */
  private boolean charged;

  /** What is charged of the host's. */
  private long hostBytes;

  /** Whether it has failed to leave since its last step. */
  private boolean stays;

  /** Null in host memory, which no device writes to, and while the state is written out. */
  private @Nullable State number;

  /**
   * A state of zeros, but for what is given.
   *
   * @param rows of the request that it begins with
   * @param initial what fits the model
   * @throws StatusException as {@link StateMemory#reserve}, with {@link NeverFits} as its cause
   *     where it has always the same size
   */
  KeptState(StateMemory memory, StatePairs pairs, long rows, List<InputTensor> initial) {
    this.memory = memory;
    reserve(pairs, rows, initial);
    try {
      tensors.values().forEach(StateTensor::takeMemory);
      if (memory.isOnDevice()) {
        number = memory.takeWord();
      }
      initial.forEach(this::begin);
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private void reserve(StatePairs pairs, long rows, List<InputTensor> initial) {
    try {
      memory.reserve(bytesOfBothCopies(pairs, rows, initial), 0);
      charged = true;
    } catch (StatusException e) {
      throw e.status() == Status.INSUFFICIENT_MEMORY && !pairs.isOpen()
          ? NeverFits.refusal(String.valueOf(e.getMessage()))
          : e;
    }
  }

  /** As many as can be counted, where there are more. */
  private long bytesOfBothCopies(StatePairs pairs, long rows, List<InputTensor> initial) {
    try {
      long bytes = 0;
      for (Map.Entry<String, KeptInput> pair : pairs.inputs().entrySet()) {
        TensorSpec spec = pair.getValue().spec();
        StateTensor tensor =
            new StateTensor(
                memory, spec.name(), spec.type(), pairs.shape(pair.getValue(), rows, initial));
        tensors.put(pair.getKey(), tensor);
        bytes = Math.addExact(bytes, Math.multiplyExact(2, tensor.roomBytes()));
      }
      return bytes;
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }

  /** What is charged for one copy. */
  private long roomBytes() {
    return tensors.values().stream().mapToLong(StateTensor::roomBytes).sum();
  }

  /** What is charged of working memory. */
  long chargedBytes() {
    return charged ? 2 * roomBytes() : 0;
  }

  /**
   * What it would take of host memory, were it written out; 0 where there is nothing to do, or
   * where that has failed since its last step.
   */
  long leavingBytes() {
    return charged && !stays ? roomBytes() : 0;
  }

  /** It was not written out, and nobody is to count on that before it has had another step. */
  void stays() {
    stays = true;
  }

  private void begin(InputTensor given) {
    for (StateTensor tensor : tensors.values()) {
      if (tensor.name().equals(given.name())) {
        tensor.begin(given);
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

  /**
   * Where an output goes; null when it is none of the state.
   *
   * @throws StatusException as {@link StateMemory#reserve}, where it is larger than it has been, or
   *     as {@link StateMemory#take}; what the next step reads is as it was
   */
  @Nullable MemorySegment place(String output, Shape shape, long byteSize) {
    StateTensor tensor = tensors.get(output);
    if (tensor == null) {
      return null;
    }
    long more = byteSize - tensor.roomBytes();
    if (more > 0) {
      memory.reserve(2 * more, 2 * roomBytes());
      tensor.grantRoom(byteSize);
    }
    return tensor.place(shape, byteSize);
  }

  /** The step has succeeded, and everything is placed. */
  void advance() {
    steps++;
    stays = false;
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
    return !charged
        || (number == null && memory.isOnDevice())
        || unneededBytes() > 0
        || tensors.values().stream().anyMatch(StateTensor::lacksMemory);
  }

  /** Whether all of it waits on the host, so that there is nothing to write out. */
  boolean isWrittenOut() {
    return !charged;
  }

  /**
   * Gives all its working memory up until it is brought back; between steps.
   *
   * @param onHost takes host memory, if there is any
   * @return false when it had none, or the host has no room for all of it; nothing is changed then
   */
  boolean writeOut(LongPredicate onHost) {
    requireWhole();
    long bytes = roomBytes();
    if (!charged || bytes == 0 || (hostBytes == 0 && !onHost.test(bytes))) {
      return false;
    }
    hostBytes = bytes; // Where it fails, what has left waits there until the rest does.
    try {
      tensors.values().forEach(StateTensor::writeOut);
    } catch (RuntimeException | Error e) {
      if (tensors.values().stream().noneMatch(StateTensor::isOut)) {
        giveHostBack();
      }
      throw e;
    }
    giveBackNumber();
    memory.release(2 * bytes);
    charged = false;
    stays = false;
    return true;
  }

  /**
   * Has working memory again, for a step.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when there is no room; nothing is lost then
   */
  void bringBack() {
    giveUnneededBack();
    if (!charged) {
      memory.reserveInExchange(2 * roomBytes());
      charged = true;
    }
    tensors.values().forEach(StateTensor::takeMemory);
    if (number == null && memory.isOnDevice()) {
      number = newNumber();
    }
    giveHostBack();
  }

  private long unneededBytes() {
    return tensors.values().stream().mapToLong(StateTensor::unneededBytes).sum();
  }

  private void giveUnneededBack() {
    long bytes = unneededBytes();
    tensors.values().forEach(StateTensor::giveUnneededBack);
    if (charged && bytes > 0) {
      memory.release(2 * bytes);
    }
  }

  private void giveHostBack() {
    memory.giveHostBack(hostBytes);
    hostBytes = 0;
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
    if (charged) {
      memory.release(2 * roomBytes());
      charged = false;
    }
    giveHostBack();
    tensors.clear();
  }
}
