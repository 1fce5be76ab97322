package io.pipelane.switcher.sharing.monitor;

import java.util.Locale;

/** The state of a device by what it can take of offline work (MuxFlow §4.1, figure 6b). */
public enum SharingState {
  /** It is being opened. */
  INIT,
  /** Online work is not influenced: offline work may come. */
  HEALTHY,
  /** Online work may be influenced: no new offline work, what runs goes on. */
  UNHEALTHY,
  /** It is overloaded: offline work stops. */
  OVERLIMIT,
  /** It cannot be used. */
  DISABLED;

  /** Whether offline runs may begin. */
  public boolean takesOfflineWork() {
    return this == HEALTHY;
  }

  /** Whether offline runs stop at their next gate. */
  public boolean stopsOfflineWork() {
    return this == OVERLIMIT || this == DISABLED;
  }

  /** As metrics and the state name it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
