package io.pipelane.lanes;

import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Device memory that outlives iterations, counted by owner; where it comes from is the device's.
 * Safe for any thread.
 */
public final class PersistentMemory implements AutoCloseable {
  /*
   * An allocation is freed by whoever removes its address from `allocations`. Each account's monitor
   * guards its figures and makes closing exclude allocating; it is taken after the removal and never
   * together with another account's. Allocations are charged what they take.
   */

  /** The source of the memory. Safe for any thread. */
  public interface Heap {
    /** What an allocation of so many bytes takes; negative when that overflows. */
    long rounded(long bytes);

    /**
     * Takes memory, aligned to {@link EphemeralRegion#ALIGNMENT}.
     *
     * @param bytes what {@link #rounded} answered
     * @return an address, or 0 when there is none left
     */
    long take(long bytes);

    /** Gives back what {@link #take} answered. */
    void release(long address, long bytes);
  }

  private record Allocation(Account account, long bytes) {}

  private final Heap heap;
  private final Map<Long, Allocation> allocations = new ConcurrentHashMap<>();
  private final Set<Account> accounts = ConcurrentHashMap.newKeySet();
  private final AtomicLong usedBytes = new AtomicLong();

  public PersistentMemory(Heap heap) {
    this.heap = heap;
  }

  /**
   * Opens an account that allocations are charged to.
   *
   * @param limitBytes allocations beyond it answer 0
   */
  public Account open(String owner, long limitBytes) {
    Account account = new Account(owner, limitBytes);
    accounts.add(account);
    return account;
  }

  /**
   * Frees an allocation by its address, whatever account it was charged to.
   *
   * @return false when the address is not one of this memory
   */
  public boolean free(long address) {
    Allocation allocation = allocations.remove(address);
    if (allocation == null) {
      return false;
    }
    heap.release(address, allocation.bytes);
    allocation.account.charge(-allocation.bytes);
    return true;
  }

  /** Bytes allocated over all accounts. */
  public long usedBytes() {
    return usedBytes.get();
  }

  /** Closes every account; the device's to call. */
  @Override
  public void close() {
    accounts.forEach(Account::close);
  }

  /** The allocations of one owner. */
  public final class Account implements AutoCloseable {
    private final String owner;
    private long limitBytes;
    private long usedBytes;
    private boolean closed;

    private Account(String owner, long limitBytes) {
      this.owner = owner;
      limit(limitBytes);
    }

    /**
     * Allocates, aligned to {@link EphemeralRegion#ALIGNMENT}.
     *
     * @return an address, or 0 when the limit leaves no room
     */
    public synchronized long allocate(long bytes) {
      if (closed) {
        throw new IllegalStateException("the account of " + owner + " is closed");
      }
      if (bytes < 0) {
        throw new IllegalArgumentException("cannot allocate " + bytes + " bytes");
      }
      long taken = heap.rounded(bytes);
      if (taken < 0 || taken > limitBytes - usedBytes) {
        return 0;
      }
      long address = heap.take(taken);
      if (address != 0) {
        charge(taken);
        allocations.put(address, new Allocation(this, taken));
      }
      return address;
    }

    /** What the owner's allocations take, rounding included. */
    public synchronized long usedBytes() {
      return usedBytes;
    }

    /** What the limit leaves to allocate. */
    public synchronized long roomBytes() {
      return Math.max(0, limitBytes - usedBytes);
    }

    /** Changes the limit; below what is in use it frees nothing and lets nothing be added. */
    public synchronized void limit(long bytes) {
      if (bytes < 0) {
        throw new IllegalArgumentException("a limit cannot be negative: " + bytes);
      }
      limitBytes = bytes;
    }

    /** Frees what is left; allocating is an {@link IllegalStateException} from then on. */
    @Override
    public synchronized void close() {
      closed = true;
      accounts.remove(this);
      Iterator<Map.Entry<Long, Allocation>> all = allocations.entrySet().iterator();
      while (all.hasNext()) {
        Map.Entry<Long, Allocation> entry = all.next();
        if (entry.getValue().account == this) {
          free(entry.getKey());
        }
      }
    }

    private synchronized void charge(long bytes) {
      usedBytes += bytes;
      PersistentMemory.this.usedBytes.addAndGet(bytes);
    }
  }
}
