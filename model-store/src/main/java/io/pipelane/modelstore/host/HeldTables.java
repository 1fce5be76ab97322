package io.pipelane.modelstore.host;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;

/**
 * Weights that are read in place, in memory that stays as long as anybody holds them: once for all
 * devices that read the same file. Safe for any thread; loads one file at a time.
 */
final class HeldTables {
  private final long capacityBytes;
  private final HostMemory hostMemory;
  private final LongConsumer taken;
  private final Map<Path, Table> tables = new HashMap<>();
  private volatile long heldBytes;

  /** A file's memory and how many hold it. */
  private static final class Table {
    private final HostMemory.Loaded loaded;
    private final long bytes;
    private int holders;

    Table(HostMemory.Loaded loaded, long bytes) {
      this.loaded = loaded;
      this.bytes = bytes;
    }
  }

  /**
   * Holds nothing yet.
   *
   * @param capacityBytes of the whole tier, which everything else gives way in
   * @param taken told how much is held, before it grows and after it has shrunk
   */
  HeldTables(long capacityBytes, HostMemory hostMemory, LongConsumer taken) {
    this.capacityBytes = capacityBytes;
    this.hostMemory = hostMemory;
    this.taken = taken;
  }

  /**
   * Holds a file's content until the answer is closed; blocks until it is there.
   *
   * @param byteSize the file's size
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when what is held leaves no room
   * @throws UncheckedIOException when the file cannot be read
   */
  synchronized HostMemory.Loaded hold(Path file, long byteSize) {
    Table table = tables.get(file);
    if (table == null) {
      table = new Table(load(file, byteSize), byteSize);
      tables.put(file, table);
    }
    table.holders++;
    return new Held(file, table.loaded);
  }

  private HostMemory.Loaded load(Path file, long byteSize) {
    if (byteSize > capacityBytes - heldBytes) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          ("%s of weights are to be read in place, and host-tier.memory of %s has %s of other models'"
                  + " already; raise it, or set switching.read-in-place to processor")
              .formatted(
                  new ByteSize(byteSize), new ByteSize(capacityBytes), new ByteSize(heldBytes)));
    }
    account(heldBytes + byteSize);
    try {
      return hostMemory.load(file);
    } catch (IOException e) {
      account(heldBytes - byteSize);
      throw new UncheckedIOException(e);
    } catch (RuntimeException | Error e) {
      account(heldBytes - byteSize);
      throw e;
    }
  }

  private void account(long bytes) {
    heldBytes = bytes;
    taken.accept(bytes);
  }

  private synchronized void release(Path file) {
    Table table = tables.get(file);
    if (table != null && --table.holders == 0) {
      tables.remove(file);
      try {
        table.loaded.close();
      } finally {
        account(heldBytes - table.bytes);
      }
    }
  }

  /** What is held. */
  long heldBytes() {
    return heldBytes;
  }

  /** One holder's share. */
  private final class Held implements HostMemory.Loaded {
    private final Path file;
    private final HostMemory.Loaded loaded;
    private final AtomicBoolean closed = new AtomicBoolean();

    Held(Path file, HostMemory.Loaded loaded) {
      this.file = file;
      this.loaded = loaded;
    }

    @Override
    public MemorySegment memory() {
      return loaded.memory();
    }

    @Override
    public Optional<HostMemory.Shared> shared() {
      return loaded.shared();
    }

    @Override
    public void close() {
      if (closed.compareAndSet(false, true)) {
        release(file);
      }
    }
  }
}
