package io.pipelane.lanes.execution;

/**
 * Memory of a device that others hold, and lanes may have for a time: what weights lie in that
 * nobody computes with (Salus' failsafe, short paper §2.2). Safe for any platform thread, which
 * holds none of the lanes' locks.
 */
public interface Reserve {
  /** Lends nothing. */
  Reserve NONE =
      new Reserve() {
        @Override
        public long unitBytes() {
          return 1;
        }

        @Override
        public long lend(long bytes) {
          return 0;
        }

        @Override
        public void giveBack(long bytes) {
          throw new IllegalStateException("nothing was lent");
        }
      };

  /** It is lent in whole units of so many bytes. */
  long unitBytes();

  /**
   * Lends what can be had at once; waits for no run and no copy.
   *
   * @param bytes what is wanted
   * @return that in whole units, or less; 0 where nothing gives way now
   */
  long lend(long bytes);

  /** Takes back what was lent, in whole units; nothing lies there any more. */
  void giveBack(long bytes);
}
