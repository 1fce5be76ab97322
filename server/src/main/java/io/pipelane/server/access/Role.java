package io.pipelane.server.access;

import java.util.Locale;

/** A role of an API key: what the key is for. */
public enum Role {
  /** Asking models. */
  INFER,
  /** Changing what is served: load, unload, upload, delete, recycle. */
  MANAGE,
  /** Seeing how the server does: index, statistics, metrics, state. */
  OBSERVE;

  /** As key files write it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
