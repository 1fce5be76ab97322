package io.pipelane.runtime;

import java.lang.foreign.MemorySegment;

/** The memory that bound tensors lie in, and how bytes move inside it. */
public sealed interface TensorMemory {
  /** Ordinary memory. */
  Host HOST = new Host();

  /**
   * Copies bytes from one place of this memory to another, in the order of the calling thread's
   * run.
   */
  void copy(long from, long to, long bytes);

  /** Memory that the processor reads and writes. */
  record Host() implements TensorMemory {
    @Override
    public void copy(long from, long to, long bytes) {
      MemorySegment.ofAddress(to)
          .reinterpret(bytes)
          .copyFrom(MemorySegment.ofAddress(from).reinterpret(bytes));
    }
  }

  /**
   * A GPU's memory.
   *
   * @param device its index
   * @param copier enqueues a copy on the stream of the calling thread's run
   */
  record Cuda(int device, Copier copier) implements TensorMemory {
    @Override
    public void copy(long from, long to, long bytes) {
      copier.copy(from, to, bytes);
    }
  }

  /** The way to move bytes inside a device's memory. */
  @FunctionalInterface
  interface Copier {
    void copy(long from, long to, long bytes);
  }
}
