package io.pipelane.runtime;

/**
 * The allocator that ONNX Runtime takes device memory from: session constants while a session is
 * built, activations and scratch while it runs.
 *
 * <p>Called by ONNX Runtime on whatever thread it allocates on: the thread that builds or runs a
 * session, so the target of an allocation belongs to the calling thread. Frees come by address and
 * from any thread.
 */
public interface DeviceAllocator {
  /**
   * Allocates, aligned to 64 bytes.
   *
   * @return an address, or 0 when there is no room, which ends the run or build with an error
   */
  long allocate(long bytes);

  /** Frees what {@link #allocate} returned. */
  void free(long address);
}
