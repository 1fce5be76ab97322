package io.pipelane.bench.sharing;

import io.pipelane.config.section.SharingConfig;
import io.pipelane.lanes.monitor.HostMemory;
import io.pipelane.switcher.sharing.Sharing;
import java.util.Map;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/** The load that other programs put on the host while offline work runs. Used by one thread. */
final class Neighbours {
  /*
   * How much of the host's memory a server takes is known once one has run with online work alone:
   * it has the same models and sessions as those that are measured beside offline work. Their limit
   * lies as far above that as a heap may grow meanwhile. It is all three thresholds: else offline
   * runs would have come to their end, and no more begun, before they are to stop.
   */
  private static final int ABOVE_USUAL = 3;
  private static final int MOST = 100;
  private static final double PERCENT = 100;

  private final int threads;
  private final boolean takesMemory;
  private final SharingConfig sharing;
  private int usualPercent;

  /**
   * Nothing is taken yet.
   *
   * @param threads that take all processor time they get
   * @param takesMemory whether something takes memory beyond the server's limit, again and again
   * @param sharing says how urgent all of it is
   */
  Neighbours(int threads, boolean takesMemory, SharingConfig sharing) {
    this.threads = threads;
    this.takesMemory = takesMemory;
    this.sharing = sharing;
  }

  /** What a server takes of the host's memory is there now, and nothing else. */
  void usual() {
    OptionalDouble taken = HostMemory.ofThisMachine().taken();
    if (takesMemory && taken.isEmpty()) {
      throw new IllegalArgumentException(
          "--memory-overload: the system does not say how much memory is taken");
    }
    usualPercent = (int) Math.ceil(PERCENT * taken.orElse(0));
  }

  /** What servers are told from then on, unless somebody knows better: their limits. */
  Map<String, String> settings() {
    if (!takesMemory || usualPercent == 0) {
      return Map.of();
    }
    if (limitPercent() >= MOST) {
      throw new IllegalArgumentException(
          "--memory-overload: %d %% of the host's memory is taken already".formatted(usualPercent));
    }
    return Map.of(
        "sharing.host-memory",
        "%1$d/%1$d/%1$d".formatted(limitPercent()),
        "sharing.overlimit-period",
        "10ms");
  }

  private int limitPercent() {
    return usualPercent + ABOVE_USUAL;
  }

  /** Begins beside a server; ends when it is closed. */
  Load begin(Sharing server) {
    HostLoad processors = new HostLoad(threads, sharing.offlineNice(), sharing.offlineProcessors());
    @Nullable MemoryLoad memory =
        takesMemory
            ? new MemoryLoad(server, (limitPercent() + 1) / PERCENT, sharing.offlineNice())
            : null;
    return () -> {
      if (memory != null) {
        memory.close();
      }
      processors.close();
    };
  }

  /** A load that has begun. */
  @FunctionalInterface
  interface Load extends AutoCloseable {
    @Override
    void close();
  }
}
