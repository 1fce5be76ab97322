package io.pipelane.lanes.allocation;

import io.pipelane.lanes.PersistentMemory;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Persistent memory that is charged to accounts; where it comes from is the device's. */
public final class OwnedMemory implements PersistentMemory, AutoCloseable {
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
     * Takes memory.
     *
     * @param bytes what {@link #rounded} answered
     * @return an address, or 0 when there is none left
     */
    long take(long bytes);

    /** Gives back what {@link #take} answered. */
    void release(long address, long bytes);
  }

  private record Allocation(OwnerAccount account, long bytes) {}

  private final Heap heap;
  private final Map<Long, Allocation> allocations = new ConcurrentHashMap<>();
  private final Set<OwnerAccount> accounts = ConcurrentHashMap.newKeySet();
  private final AtomicLong usedBytes = new AtomicLong();

  public OwnedMemory(Heap heap) {
    this.heap = heap;
  }

  @Override
  public Account open(String owner, long limitBytes) {
    OwnerAccount account = new OwnerAccount(owner, limitBytes);
    accounts.add(account);
    return account;
  }

  @Override
  public boolean free(long address) {
    Allocation allocation = allocations.remove(address);
    if (allocation == null) {
      return false;
    }
    heap.release(address, allocation.bytes);
    allocation.account.charge(-allocation.bytes);
    return true;
  }

  @Override
  public long usedBytes() {
    return usedBytes.get();
  }

  /** Closes every account. */
  @Override
  public void close() {
    accounts.forEach(Account::close);
  }

  private final class OwnerAccount implements Account {
    private final String owner;
    private long limitBytes;
    private long usedBytes;
    private long peakBytes;
    private boolean closed;

    OwnerAccount(String owner, long limitBytes) {
      this.owner = owner;
      limit(limitBytes);
    }

    @Override
    public String owner() {
      return owner;
    }

    @Override
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

    @Override
    public synchronized long usedBytes() {
      return usedBytes;
    }

    @Override
    public synchronized long peakBytes() {
      return peakBytes;
    }

    @Override
    public synchronized long roomBytes() {
      return Math.max(0, limitBytes - usedBytes);
    }

    @Override
    public synchronized void limit(long bytes) {
      if (bytes < 0) {
        throw new IllegalArgumentException("a limit cannot be negative: " + bytes);
      }
      limitBytes = bytes;
    }

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
      peakBytes = Math.max(peakBytes, usedBytes);
      OwnedMemory.this.usedBytes.addAndGet(bytes);
    }
  }
}
