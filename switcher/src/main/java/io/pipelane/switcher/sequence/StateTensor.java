package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One input that an output becomes in the next step. A step reads it while its successor is
 * written, which counts once the step has succeeded. Between steps it may be written out. Belongs
 * to one thread after another.
 */
final class StateTensor {
  private static final long ALIGNMENT = 64;

  private final StateMemory account;
  private final String name;
  private final TensorType type;
  private final Shape declared;
  private Shape shape;
  private Shape nextShape;
  private Buffer data;

  /** Null while the state is written out: there is nothing in it that counts. */
  private @Nullable Buffer next;

  private boolean writtenOut;

  /** Memory, charged to the working memory unless it is written out. */
  private record Buffer(Arena arena, MemorySegment memory) {
    static Buffer of(StateMemory account, long bytes) {
      account.reserve(bytes);
      Arena arena = Arena.ofShared();
      try {
        return new Buffer(arena, arena.allocate(Math.max(1, bytes), ALIGNMENT).asSlice(0, bytes));
      } catch (RuntimeException | Error e) {
        arena.close();
        account.release(bytes);
        throw e;
      }
    }

    void free(StateMemory account) {
      long bytes = memory.byteSize();
      arena.close();
      account.release(bytes);
    }
  }

  /**
   * A state of zeros.
   *
   * @param rows what its open dimensions are
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there is no room for it
   */
  StateTensor(StateMemory account, TensorSpec spec, long rows) {
    this.account = account;
    this.name = spec.name();
    this.type = spec.type();
    this.declared = spec.shape();
    long[] dimensions = spec.shape().toArray();
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = dimensions[i] < 0 ? rows : dimensions[i];
    }
    this.shape = Shape.of(dimensions);
    this.nextShape = shape;
    long bytes = Math.multiplyExact(shape.elements(), (long) type.byteWidth());
    this.data = Buffer.of(account, bytes);
    try {
      this.next = Buffer.of(account, bytes);
    } catch (RuntimeException | Error e) {
      data.free(account);
      throw e;
    }
  }

  /**
   * Begins with what is given instead of zeros.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when that does not fit
   */
  void begin(InputTensor given) {
    if (given.type() != type || !declared.admits(given.shape())) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "state \"%s\" was %s%s, and the model declares %s%s"
              .formatted(name, given.type(), given.shape(), type, declared));
    }
    place(given.shape(), given.data().byteSize()).copyFrom(given.data());
    advance();
  }

  /** What the next step reads. */
  InputTensor input() {
    return new InputTensor(name, type, shape, data.memory());
  }

  /** Where the step under way writes what comes after it. */
  MemorySegment place(Shape written, long byteSize) {
    Buffer place = next;
    if (place == null || byteSize != place.memory().byteSize()) {
      Buffer other = Buffer.of(account, byteSize);
      if (place != null) {
        place.free(account);
      }
      place = other;
      next = other;
    }
    nextShape = written;
    return place.memory();
  }

  /** The step has succeeded, and everything is placed. */
  void advance() {
    Buffer read = data;
    data = Objects.requireNonNull(next);
    next = read;
    shape = nextShape;
  }

  /**
   * Gives its working memory up until it is brought back; between steps.
   *
   * @return false when it had none, or the host has no room for it
   */
  boolean writeOut() {
    if (writtenOut || !account.tryWriteOut(data.memory().byteSize())) {
      return false;
    }
    writtenOut = true;
    if (next != null) {
      next.free(account);
      next = null;
    }
    return true;
  }

  /**
   * Has working memory again, for a step.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} or {@link Status#INSUFFICIENT_MEMORY} when
   *     there is no room; nothing is lost then
   */
  void bringBack() {
    long bytes = data.memory().byteSize();
    if (writtenOut) {
      account.bringBack(bytes);
      writtenOut = false;
    }
    if (next == null) {
      next = Buffer.of(account, bytes);
    }
  }

  void close() {
    if (next != null) {
      next.free(account);
      next = null;
    }
    if (writtenOut) {
      long bytes = data.memory().byteSize();
      data.arena().close();
      account.releaseWrittenOut(bytes);
    } else {
      data.free(account);
    }
  }
}
