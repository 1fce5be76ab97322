package io.pipelane.switcher.sequence;

import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A tensor of a sequence's state: an output of one step that is an input of the next. A step reads
 * it while its successor is written, which counts once the step has succeeded. Between steps it may
 * be written out. Belongs to one thread after another.
 */
final class StateTensor {
  private final StateMemory memory;
  private final String name;
  private final TensorType type;
  private Shape shape;
  private Shape nextShape;

  /** Null before {@link #takeMemory}, and while it is written out. */
  private @Nullable State data;

  /** Null at the same times: there is nothing in it that counts. */
  private @Nullable State next;

  /** What that has, or has had: a state comes back as it has left. */
  private long nextBytes;

  /** What waits on the host instead. */
  private @Nullable State writtenOut;

  /**
   * A state of zeros, which has no memory yet.
   *
   * @param rows what its open dimensions are
   */
  StateTensor(StateMemory memory, TensorSpec spec, long rows) {
    this.memory = memory;
    this.name = spec.name();
    this.type = spec.type();
    long[] dimensions = spec.shape().toArray();
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = dimensions[i] < 0 ? rows : dimensions[i];
    }
    this.shape = Shape.of(dimensions);
    this.nextShape = shape;
    this.nextBytes = byteSize();
  }

  private long byteSize() {
    return Math.multiplyExact(shape.elements(), (long) type.byteWidth());
  }

  /** Begins with what is given, which fits, instead of zeros. */
  void begin(InputTensor given, LongSupplier ownBytes) {
    nextOf(given.shape(), given.data().byteSize(), ownBytes).write(given.data());
    advance();
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

  /**
   * Where the step under way writes what comes after it.
   *
   * @param ownBytes what all of the state holds, asked where it changes its size
   */
  MemorySegment place(Shape written, long byteSize, LongSupplier ownBytes) {
    return nextOf(written, byteSize, ownBytes).memory();
  }

  private State nextOf(Shape written, long byteSize, LongSupplier ownBytes) {
    State place = next;
    long has = place == null ? 0 : place.memory().byteSize();
    if (place == null || byteSize != has) {
      if (byteSize > has) {
        reserve(byteSize - has, byteSize <= byteSize(), ownBytes.getAsLong());
      }
      next = null; // Where it fails, it has none.
      place = memory.replace(place, byteSize);
      next = place;
      nextBytes = byteSize;
    }
    nextShape = written;
    return place;
  }

  /** For a second copy of what is there others leave as they do for what comes back. */
  private void reserve(long more, boolean isAsLarge, long ownBytes) {
    if (isAsLarge) {
      memory.reserveInExchange(more, ownBytes);
    } else {
      memory.reserve(more, ownBytes);
    }
  }

  /** The step has succeeded, and everything is placed. */
  void advance() {
    State read = Objects.requireNonNull(data);
    data = Objects.requireNonNull(next);
    next = read;
    nextBytes = read.memory().byteSize();
    shape = nextShape;
  }

  /** What it has of working memory. */
  long heldBytes() {
    return leavingBytes() + (next == null ? 0 : next.memory().byteSize());
  }

  /** What {@link #writeOut} takes on the host. */
  long leavingBytes() {
    return data == null ? 0 : data.memory().byteSize();
  }

  /**
   * Gives its working memory up until it takes some again; between steps, with {@link
   * #leavingBytes} of host memory taken for it.
   */
  void writeOut() {
    State whole = data;
    if (whole != null) {
      writtenOut = memory.writeOut(whole);
      data = null;
    }
    giveBackNext();
  }

  boolean isWrittenOut() {
    return writtenOut != null;
  }

  /** Whether a step has to wait for {@link #takeMemory}. */
  boolean lacksMemory() {
    return next == null;
  }

  /** What {@link #takeMemory} would take. */
  long lackingBytes() {
    return (data == null ? byteSize() : 0) + (next == null ? nextBytes : 0);
  }

  /**
   * Has working memory for a step, with what was written out in it: {@link #lackingBytes}, which
   * are reserved. Where that fails, what it has not taken it lacks still, and nothing is lost.
   */
  void takeMemory() {
    if (data == null) {
      State out = writtenOut;
      data = out == null ? memory.take(byteSize()) : memory.bringBack(out);
      writtenOut = null;
    }
    if (next == null) {
      next = memory.take(nextBytes);
    }
  }

  private void giveBackNext() {
    if (next != null) {
      memory.giveBack(next);
      next = null;
    }
  }

  void close() {
    giveBackNext();
    if (data != null) {
      memory.giveBack(data);
      data = null;
    }
    if (writtenOut != null) {
      memory.discard(writtenOut);
      writtenOut = null;
    }
  }
}
