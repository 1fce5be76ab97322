package io.pipelane.switcher.memory;

import java.util.Objects;

/**
 * Permission to build a model's packed form, with the memory for it. The model's pages stay until
 * the grant is used up by {@link #abandon}, or its form dropped.
 */
public final class PackingGrant {
  private final MemoryDaemon daemon;
  private final Residency residency;
  private final PackedForm form;
  private final long bytes;

  PackingGrant(MemoryDaemon daemon, Residency residency, long bytes) {
    this.daemon = daemon;
    this.residency = residency;
    this.form = Objects.requireNonNull(residency.packed);
    this.bytes = bytes;
  }

  /** Where the weights lie for as long as there is the form, or leave to build it. */
  public StructureRange range() {
    return residency.range();
  }

  /** What the form may take. */
  public long bytes() {
    return bytes;
  }

  /**
   * The form is built and takes over.
   *
   * @param actualBytes what it takes, at most {@link #bytes}
   * @param drop ends it and frees its memory; called once, on any thread, when no lease uses it; it
   *     must not call the daemon
   */
  public void built(long actualBytes, Runnable drop) {
    daemon.packed(form, actualBytes, drop);
  }

  /** The form was not built, and all its memory is free again. */
  public void abandon() {
    daemon.packingAbandoned(residency, form);
  }
}
