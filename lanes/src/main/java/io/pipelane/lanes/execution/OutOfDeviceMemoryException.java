package io.pipelane.lanes.execution;

import java.io.Serial;

/** A failure of work on the device because an allocation was refused. */
public final class OutOfDeviceMemoryException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final long refusedBytes;

  /** Of work that failed for some reason of its own. */
  OutOfDeviceMemoryException(long refusedBytes, RuntimeException cause) {
    this(refusedBytes);
    initCause(cause);
  }

  public OutOfDeviceMemoryException(long refusedBytes) {
    super("an allocation of " + refusedBytes + " bytes was refused");
    this.refusedBytes = refusedBytes;
  }

  /** The largest single allocation that was refused. */
  public long refusedBytes() {
    return refusedBytes;
  }
}
