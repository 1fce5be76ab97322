package io.pipelane.lanes.cpu;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.PersistentMemory;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Persistent memory from the C heap, or from the system directly where it is large. */
final class CpuPersistentMemory implements PersistentMemory, AutoCloseable {
  /*
   * An allocation is freed by whoever removes its address from `allocations`. Each account's monitor
   * guards its figures and makes closing exclude allocating; it is taken after the removal and never
   * together with another account's. Allocations are charged what they take: sizes are rounded up to
   * 64 bytes, or to the system's pages.
   */

  /** From here on memory is mapped, so that freeing gives it back to the system. */
  private static final long MAPPED_BYTES = 256 << 10;

  private record Allocation(CpuAccount account, long bytes) {
    void release(long address) {
      if (bytes >= MAPPED_BYTES) {
        LibC.munmap(address, bytes);
      } else {
        LibC.free(address);
      }
    }
  }

  private final Map<Long, Allocation> allocations = new ConcurrentHashMap<>();
  private final Set<CpuAccount> accounts = ConcurrentHashMap.newKeySet();
  private final AtomicLong usedBytes = new AtomicLong();

  @Override
  public Account open(String owner, long limitBytes) {
    CpuAccount account = new CpuAccount(owner, limitBytes);
    accounts.add(account);
    return account;
  }

  @Override
  public boolean free(long address) {
    Allocation allocation = allocations.remove(address);
    if (allocation == null) {
      return false;
    }
    allocation.release(address);
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

  private static long rounded(long bytes) {
    long alignment = bytes >= MAPPED_BYTES ? LibC.SYSTEM_PAGE_BYTES : FreeList.ALIGNMENT;
    return (Math.max(bytes, 1) + alignment - 1) & -alignment;
  }

  private static long take(long bytes) {
    try {
      return bytes >= MAPPED_BYTES
          ? LibC.mapMemory(bytes)
          : LibC.alignedAlloc(FreeList.ALIGNMENT, bytes);
    } catch (StatusException e) {
      if (e.status() == Status.INSUFFICIENT_MEMORY) {
        return 0;
      }
      throw e;
    }
  }

  private final class CpuAccount implements Account {
    private final String owner;
    private long limitBytes;
    private long usedBytes;
    private long peakBytes;
    private boolean closed;

    CpuAccount(String owner, long limitBytes) {
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
      long taken = rounded(bytes);
      if (taken < 0 || taken > limitBytes - usedBytes) {
        return 0;
      }
      long address = take(taken);
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
      CpuPersistentMemory.this.usedBytes.addAndGet(bytes);
    }
  }
}
