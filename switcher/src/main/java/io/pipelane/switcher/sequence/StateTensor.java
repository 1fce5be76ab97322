package io.pipelane.switcher.sequence;

import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A tensor of a sequence's state: an output of one step that is an input of the next. A step reads
 * it while its successor is written, which counts once the step has succeeded. Between steps it may
 * be written out. Charges nothing: that is its state's. Belongs to one thread after another.
 */
final class StateTensor {
  private final StateMemory memory;
  private final String name;
  private final TensorType type;
  private Shape shape;
  private Shape nextShape;

  /** The larger of both copies, or the largest that has been placed. */
  private long roomBytes;

  /** The largest that has counted. */
  private long mostBytes;

  /** Null before {@link #takeMemory}, and while it is written out. */
  private @Nullable State data;

  /** Null at the same times, or where there was no memory for it: nothing in it counts. */
  private @Nullable State next;

  /** What waits on the host instead of data. */
  private @Nullable State writtenOut;

  /** A state of zeros, which has no memory yet. */
  StateTensor(StateMemory memory, String name, TensorType type, Shape shape) {
    this.memory = memory;
    this.name = name;
    this.type = type;
    this.shape = shape;
    this.nextShape = shape;
    this.roomBytes = byteSize();
    this.mostBytes = roomBytes;
  }

  private long byteSize() {
    return Math.multiplyExact(shape.elements(), (long) type.byteWidth());
  }

  /** What is to be charged for each of its two copies. */
  long roomBytes() {
    return roomBytes;
  }

  /** It is charged so much from now on. */
  void grantRoom(long bytes) {
    roomBytes = bytes;
  }

  /** Begins with what is given, of its shape, instead of zeros; before the first step. */
  void begin(InputTensor given) {
    Objects.requireNonNull(data).write(given.data());
  }

  String name() {
    return name;
  }

  /** What the next step reads. */
  InputTensor input() {
    MemorySegment read = Objects.requireNonNull(data).memory();
    return new InputTensor(name, type, shape, read, memory.isOnDevice());
  }

  /** The same in host memory, for as long as an arena. */
  InputTensor onHost(Arena arena) {
    State out = writtenOut;
    if (out != null) {
      return new InputTensor(name, type, shape, out.memory());
    }
    State read = Objects.requireNonNull(data);
    if (!memory.isOnDevice()) {
      return input();
    }
    MemorySegment copy = arena.allocate(read.memory().byteSize(), 64);
    read.read(copy);
    return new InputTensor(name, type, shape, copy);
  }

  /** Where the step under way writes what comes after it; there is room for so much. */
  MemorySegment place(Shape written, long byteSize) {
    State place = next;
    if (place == null || byteSize != place.memory().byteSize()) {
      closeNext(); // First, as the device may have no room for both.
      place = memory.take(byteSize);
      next = place;
    }
    nextShape = written;
    return place.memory();
  }

  /** The step has succeeded, and everything is placed. */
  void advance() {
    State read = data;
    data = Objects.requireNonNull(next);
    next = read;
    shape = nextShape;
    mostBytes = Math.max(mostBytes, byteSize());
  }

  /** What of its room was for a step that has failed; between steps. */
  long unneededBytes() {
    return roomBytes - mostBytes;
  }

  /** Does without that, and without what lies there. */
  void giveUnneededBack() {
    if (next != null && next.memory().byteSize() > mostBytes) {
      closeNext();
    }
    roomBytes = mostBytes;
  }

  /**
   * Gives its working memory up until it takes some again; between steps. Where that fails, it is
   * as it was.
   */
  void writeOut() {
    State whole = data;
    if (whole != null) {
      writtenOut = memory.writeOut(whole);
      data = null;
    }
    closeNext();
  }

  /** Whether what counts waits on the host. */
  boolean isOut() {
    return writtenOut != null;
  }

  /** Whether a step has to wait for {@link #takeMemory}. */
  boolean lacksMemory() {
    return data == null || next == null;
  }

  /**
   * Has working memory for a step, with what was written out in it. Where that fails, what it has
   * not taken it lacks still, and nothing is lost.
   */
  void takeMemory() {
    if (data == null) {
      State out = writtenOut;
      data = out == null ? memory.take(byteSize()) : memory.bringBack(out);
      writtenOut = null;
    }
    if (next == null) {
      next = memory.take(byteSize());
    }
  }

  private void closeNext() {
    if (next != null) {
      next.close();
      next = null;
    }
  }

  void close() {
    closeNext();
    if (data != null) {
      data.close();
      data = null;
    }
    if (writtenOut != null) {
      writtenOut.close();
      writtenOut = null;
    }
  }
}
