package io.pipelane.switcher.sharing;

/** The memory that offline work holds, as its eviction gets it back. For any thread. */
public interface OfflineMemory {
  /** Nothing is held. */
  OfflineMemory NONE =
      new OfflineMemory() {
        @Override
        public long takeBackOffline() {
          return 0;
        }

        @Override
        public void endOfflineRuns() {}
      };

  /** Takes off the device what offline work alone uses and no run holds; how many bytes. */
  long takeBackOffline();

  /**
   * Has all offline runs end at their gates, to begin anew when they may again; what they held can
   * be taken back then.
   */
  void endOfflineRuns();
}
