package io.pipelane.switcher.memory;

import org.jspecify.annotations.Nullable;

/**
 * A model's prepacked form as the memory daemon sees it: bytes of the budget that can be had back.
 *
 * <p>Guarded by the daemon's lock.
 */
final class PackedForm {
  /** What is charged: the bytes granted while it is built, then those it really takes. */
  long bytes;

  int leases;

  /** Ends the form and frees its memory; null while it is being built. */
  @Nullable Runnable drop;

  PackedForm(long bytes) {
    this.bytes = bytes;
  }

  boolean isReady() {
    return drop != null;
  }
}
