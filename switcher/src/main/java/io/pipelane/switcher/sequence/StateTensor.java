package io.pipelane.switcher.sequence;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * One input that an output becomes in the next step. A step reads it while its successor is
 * written, which counts once the step has succeeded. Belongs to one thread after another.
 */
final class StateTensor {
  private static final long ALIGNMENT = 64;

  private final Reservations reservations;
  private final String name;
  private final TensorType type;
  private final Shape declared;
  private Shape shape;
  private Shape nextShape;
  private Buffer data;
  private Buffer next;

  /** Memory, charged to the working memory. */
  private record Buffer(Arena arena, MemorySegment memory) {
    static Buffer of(Reservations reservations, long bytes) {
      if (!reservations.tryReservePersistent(bytes)) {
        throw new StatusException(
            Status.INSUFFICIENT_MEMORY,
            "a sequence's state of %s does not fit device.working-memory at present, or what offline work may hold of that (sharing.offline-memory-percent); end sequences, or raise them"
                .formatted(new ByteSize(bytes)));
      }
      Arena arena = Arena.ofShared();
      try {
        return new Buffer(arena, arena.allocate(Math.max(1, bytes), ALIGNMENT).asSlice(0, bytes));
      } catch (RuntimeException | Error e) {
        arena.close();
        reservations.releasePersistent(bytes);
        throw e;
      }
    }

    void free(Reservations reservations) {
      long bytes = memory.byteSize();
      arena.close();
      reservations.releasePersistent(bytes);
    }
  }

  /**
   * A state of zeros.
   *
   * @param rows what its open dimensions are
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there is no room for it
   */
  StateTensor(Reservations reservations, TensorSpec spec, long rows) {
    this.reservations = reservations;
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
    this.data = Buffer.of(reservations, bytes);
    try {
      this.next = Buffer.of(reservations, bytes);
    } catch (StatusException e) {
      data.free(reservations);
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
    if (byteSize != next.memory().byteSize()) {
      Buffer other = Buffer.of(reservations, byteSize);
      next.free(reservations);
      next = other;
    }
    nextShape = written;
    return next.memory();
  }

  /** The step has succeeded. */
  void advance() {
    Buffer read = data;
    data = next;
    next = read;
    shape = nextShape;
  }

  void close() {
    data.free(reservations);
    next.free(reservations);
  }
}
