package io.pipelane.lanes;

/** Device memory that outlives iterations, counted by owner. Safe for any thread. */
public interface PersistentMemory {
  /**
   * Opens an account that allocations are charged to.
   *
   * @param limitBytes allocations beyond it answer 0
   */
  Account open(String owner, long limitBytes);

  /**
   * Frees an allocation by its address, whatever account it was charged to.
   *
   * @return false when the address is not one of this memory
   */
  boolean free(long address);

  /** Bytes allocated over all accounts. */
  long usedBytes();

  /** The allocations of one owner. */
  interface Account extends AutoCloseable {
    String owner();

    /**
     * Allocates, aligned to {@link EphemeralRegion#ALIGNMENT}.
     *
     * @return an address, or 0 when the limit leaves no room
     */
    long allocate(long bytes);

    /** What the owner's allocations take, rounding included. */
    long usedBytes();

    long peakBytes();

    /** What the limit leaves to allocate. */
    long roomBytes();

    /** Changes the limit; below what is in use it frees nothing and lets nothing be added. */
    void limit(long bytes);

    /** Frees what is left; allocating is an {@link IllegalStateException} from then on. */
    @Override
    void close();
  }
}
