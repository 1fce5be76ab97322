package io.pipelane.modelstore.host;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Weights kept ready for transfer in host memory, up to a bound; beyond it they are read from disk.
 * Safe for any thread.
 */
public final class HostTier implements HostWeights, AutoCloseable {
  /*
   * Caffeine decides what stays. An entry that it gives up is freed when its last lease closes. An
   * entry that it does not admit is never leased: its weights are read from disk instead. So the
   * tier stays within its bound but for leases of entries given up under them.
   *
   * What is read in place in filled memory must stay while its model is registered, so the cache is
   * given what that leaves of the bound. On the processor it is the page cache's: the system may
   * drop it, so it is in no bound.
   *
   * Entries are by content, not by path: the cache of imports has one file for weights that several
   * versions have alike, which is here once then.
   *
   * Mapping a file takes no time, so whoever wants it does it. Filling memory takes time, and
   * whoever wants it may hold locks, so it never waits for a lease. The loader's thread fills
   * memory, and the lease follows it (FollowingSource), so the disk is read once. Where the loader
   * is busy with another file, or fails, or is to keep nothing, the lease reads the file itself.
   * Only where no other file is before it does a read of the lease wait for the loader to begin.
   *
   * A file that is to fill memory is entered before it is read. What the cache gives up for it has
   * gone by then, and the file can be read into that very memory. Where the cache does not admit
   * it, nothing is read. When the loader has nothing to do, it has memory made ready for a file as
   * large as the largest so far, as far as there is room.
   *
   * Only the loader's thread fills, so of a file that is there or on its way there is one entry.
   * The loader is a user of the entry until nobody follows any longer.
   */
  private static final System.Logger LOG = System.getLogger(HostTier.class.getName());
  private static final int WEIGHT_UNIT = 4 << 10; // Memory comes in whole pages of the system.
  private static final int REMEMBERED_FILES = 100_000;
  private static final long STRETCH_BYTES = 4L << 20;

  private final long capacityBytes;
  private final HostMemory hostMemory;
  private final @Nullable ExecutorService loader;
  private final Cache<FileContent, SharedWeights> held;

  /** What was found at paths; the file may have been deleted that an entry was read from. */
  private final Cache<Path, FileContent> contents =
      Caffeine.newBuilder().maximumSize(REMEMBERED_FILES).build();

  private final HeldTables tables;
  private final Map<FileContent, Filling> loading = new ConcurrentHashMap<>();
  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private final LongAdder direct = new LongAdder();
  private final LongAdder filesAhead = new LongAdder();
  private final LongAdder bytesAhead = new LongAdder();
  private final AtomicLong heldBytes = new AtomicLong();
  private long largestBytes; // Of the files that were to fill memory; the loader's.
  private volatile boolean closed;

  /**
   * The tier's usage in figures.
   *
   * @param hits leases on weights that were in memory already
   * @param misses leases that had to map them
   * @param direct leases that read from disk
   * @param heldBytes what the tier holds
   * @param inPlaceBytes what it holds beside that because it is read in place; not what is mapped
   * @param spareBytes memory beside both that is kept for what comes
   * @param filesAhead files of which some was read before anybody asked
   * @param bytesAhead what was read of them
   */
  public record Statistics(
      long hits,
      long misses,
      long direct,
      long heldBytes,
      long inPlaceBytes,
      long spareBytes,
      long filesAhead,
      long bytesAhead) {
    /** Of a tier that nobody has used. */
    public static final Statistics NONE = new Statistics(0, 0, 0, 0, 0, 0);

    /** Of a tier that has read nothing ahead. */
    public Statistics(
        long hits, long misses, long direct, long heldBytes, long inPlaceBytes, long spareBytes) {
      this(hits, misses, direct, heldBytes, inPlaceBytes, spareBytes, 0, 0);
    }
  }

  private HostTier(ByteSize capacity, HostMemory hostMemory, @Nullable ExecutorService loader) {
    this.capacityBytes = capacity.bytes();
    this.hostMemory = hostMemory;
    this.loader = loader;
    this.held =
        Caffeine.newBuilder()
            .maximumWeight(capacityBytes / WEIGHT_UNIT)
            .weigher((FileContent content, SharedWeights weights) -> weigh(weights))
            .evictionListener((content, weights, cause) -> dropped(weights))
            .executor(Runnable::run)
            .build();
    this.tables = new HeldTables(capacityBytes, hostMemory, this::leaveRoom);
    hostMemory.keepWithin(capacityBytes);
  }

  /** A tier that maps files: the bytes are the page cache's, and so not in memory twice. */
  public static HostTier mapping(ByteSize capacity) {
    return mapping(capacity, HostMemory.PAGE_CACHE);
  }

  static HostTier mapping(ByteSize capacity, HostMemory hostMemory) {
    return new HostTier(capacity, hostMemory, null);
  }

  /** A tier whose memory is filled from files, in the background unless {@link #prepare} waits. */
  public static HostTier filling(ByteSize capacity, HostMemory hostMemory) {
    return new HostTier(
        capacity,
        hostMemory,
        Executors.newSingleThreadExecutor(
            Thread.ofPlatform().name("host-tier").daemon().factory()));
  }

  /** Bounds the cache to what is left beside weights that are read in place. */
  private void leaveRoom(long inPlaceBytes) {
    long left = capacityBytes - inPlaceBytes;
    held.policy().eviction().ifPresent(bound -> bound.setMaximum(left / WEIGHT_UNIT));
    held.cleanUp();
    hostMemory.keepWithin(closed ? 0 : left);
  }

  private long roomBytes() {
    return capacityBytes - tables.heldBytes();
  }

  private static int weigh(SharedWeights weights) {
    long units = Math.ceilDiv(weights.byteSize(), WEIGHT_UNIT);
    return (int) Math.min(Integer.MAX_VALUE, units);
  }

  private void dropped(@Nullable SharedWeights weights) {
    if (weights != null) {
      heldBytes.addAndGet(-weights.byteSize());
      weights.evict();
    }
  }

  /**
   * Fills memory with a model's weights ahead of their first lease, if there is room without giving
   * up others'; blocks until they are there. Where memory for them cannot be had, as when a device
   * that would pin it is lost, they stay on disk.
   *
   * @throws UncheckedIOException when the file cannot be read
   */
  public void prepare(Path weights, long byteSize) {
    if (loader == null || heldBytes.get() + byteSize > roomBytes()) {
      return;
    }
    try {
      await(weights, loader);
    } catch (UncheckedIOException e) {
      throw e;
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "{0} stays on disk: {1}", weights, e);
    }
  }

  /**
   * Reads weights from disk before anybody asks, into room that is free: nobody's are given up.
   * Blocks until they are there, or it does not go on. Where files are mapped it is the page cache
   * that they are read into.
   *
   * @param goesOn asked before each 4 MiB of a file that is mapped, and before one fills memory
   * @return what was read; 0 for what is in memory, and what there is no room for
   * @throws UncheckedIOException when the file cannot be read
   */
  public long readAhead(Path weights, long byteSize, BooleanSupplier goesOn) {
    FileContent content = content(weights);
    boolean isHeld = held.asMap().containsKey(content);
    boolean hasRoom = isHeld || heldBytes.get() + byteSize <= roomBytes();
    long read = 0;
    if (loader == null && hasRoom && !closed) {
      read = touched(mapped(content, weights), goesOn);
    } else if (loader != null && hasRoom && !isHeld && loading.isEmpty() && goesOn.getAsBoolean()) {
      await(weights, loader);
      read = held.asMap().containsKey(content) ? byteSize : 0;
    }
    if (read > 0) {
      filesAhead.increment();
      bytesAhead.add(read);
    }
    return read;
  }

  /** Has the page cache hold a mapped file. */
  private static long touched(SharedWeights mapped, BooleanSupplier goesOn) {
    if (!mapped.retain()) {
      return 0;
    }
    try {
      long read = 0;
      MemorySegment content = mapped.memory();
      for (long at = 0; at < content.byteSize() && goesOn.getAsBoolean(); at += STRETCH_BYTES) {
        MemorySegment stretch =
            content.asSlice(at, Math.min(STRETCH_BYTES, content.byteSize() - at));
        if (!stretch.isLoaded()) {
          stretch.load();
          read += stretch.byteSize();
        }
      }
      return read;
    } finally {
      mapped.release();
    }
  }

  /** What a path leads to now; where it leads to nothing, what was found there before. */
  private FileContent content(Path file) {
    try {
      FileContent found = FileContent.of(file);
      if (!found.equals(contents.getIfPresent(file))) {
        contents.put(file, found);
      }
      return found;
    } catch (IOException e) {
      FileContent before = contents.getIfPresent(file);
      if (before == null) {
        throw new UncheckedIOException(e);
      }
      return before;
    }
  }

  private void await(Path weights, ExecutorService loader) {
    FileContent content = content(weights);
    Filling next = next(content);
    try {
      loader.submit(() -> fill(content, weights)).get();
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case RuntimeException cause -> throw cause;
        case Error cause -> throw cause;
        case null, default -> throw new IllegalStateException(e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RejectedExecutionException e) { // The tier has been closed.
      loading.remove(content, next);
      next.end();
    }
  }

  /**
   * Leases a model's streamed weights.
   *
   * @throws UncheckedIOException when their file cannot be opened
   */
  @Override
  public WeightSource open(ImportedModel model) {
    return open(model.weights(), model.plan().weightBytes());
  }

  /**
   * {@inheritDoc}
   *
   * <p>What is mapped is not bounded, and in no statistics. Filled memory is a part of the tier
   * that nothing makes room in, and is there once for all devices.
   *
   * @throws io.pipelane.config.StatusException {@link
   *     io.pipelane.config.Status#INSUFFICIENT_MEMORY} when the tier has no room for it
   */
  @Override
  public HostMemory.Loaded inPlace(ImportedModel model) {
    return loader == null
        ? HostWeights.held(model, hostMemory)
        : tables.hold(model.inPlaceWeights(), model.plan().inPlaceBytes());
  }

  /**
   * Leases the weights of a model.
   *
   * @param weights its weights file, which must not change
   * @param byteSize the file's size
   * @throws UncheckedIOException when the file cannot be opened
   */
  public WeightSource open(Path weights, long byteSize) {
    FileContent content = content(weights);
    if (byteSize <= roomBytes()) {
      Optional<WeightSource> present = held(content);
      if (present.isPresent()) {
        hits.increment();
        return present.get();
      }
      if (loader == null) {
        SharedWeights mapped = mapped(content, weights);
        if (mapped.retain()) {
          misses.increment();
          return new SharedSource(mapped);
        }
      }
    }
    direct.increment();
    Optional<Filling> filling =
        byteSize <= roomBytes() && loader != null
            ? filling(content, weights, loader)
            : Optional.empty();
    WeightSource file = FileSource.open(weights);
    return filling.isPresent()
        ? new FollowingSource(filling.get(), file, () -> held(content))
        : file;
  }

  private Optional<WeightSource> held(FileContent content) {
    SharedWeights present = held.getIfPresent(content);
    return present != null && present.retain()
        ? Optional.of(new SharedSource(present))
        : Optional.empty();
  }

  /** What a file is being loaded into; has it loaded if it is not, unless the tier is closed. */
  private synchronized Optional<Filling> filling(
      FileContent content, Path weights, ExecutorService loader) {
    Filling present = loading.get(content);
    if (present != null) {
      return Optional.of(present);
    }
    Filling next = next(content);
    try {
      loader.execute(() -> fillQuietly(content, weights));
      return Optional.of(next);
    } catch (RejectedExecutionException e) {
      loading.remove(content, next);
      return Optional.empty();
    }
  }

  /** Enters a file among those that the loader has to load, last. */
  private synchronized Filling next(FileContent content) {
    boolean soon = loading.isEmpty();
    return loading.computeIfAbsent(content, absent -> new Filling(soon));
  }

  private SharedWeights mapped(FileContent content, Path file) {
    SharedWeights mapped = held.get(content, absent -> mapped(file));
    held.cleanUp();
    return mapped;
  }

  private SharedWeights mapped(Path file) {
    try {
      HostMemory.Loaded content = hostMemory.load(file);
      SharedWeights mapped = new SharedWeights(content.memory().byteSize());
      mapped.loaded(content);
      mapped.release();
      heldBytes.addAndGet(mapped.byteSize());
      return mapped;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void fillQuietly(FileContent content, Path weights) {
    try {
      fill(content, weights);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "{0} stays on disk: {1}", weights, e);
    }
  }

  /** Fills memory with a file, unless it is there; blocks. */
  private void fill(FileContent content, Path file) {
    Filling filling = loading.computeIfAbsent(content, absent -> new Filling());
    try {
      if (!closed) {
        enter(content, file, new SharedWeights(Files.size(file)), filling);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      loading.remove(content, filling);
      filling.end();
    }
    prepareNext();
  }

  private void enter(FileContent content, Path file, SharedWeights room, Filling filling)
      throws IOException {
    heldBytes.addAndGet(room.byteSize());
    if (held.asMap().putIfAbsent(content, room) != null) {
      heldBytes.addAndGet(-room.byteSize());
      return;
    }
    held.cleanUp();
    largestBytes = Math.max(largestBytes, room.byteSize());
    boolean isLoaded = false;
    try {
      if (room.isHeld()) {
        room.loaded(hostMemory.load(file, filling));
        isLoaded = true;
      }
    } finally {
      if (!isLoaded && held.asMap().remove(content, room)) {
        dropped(room);
      }
      filling.end();
      room.release();
    }
  }

  private void prepareNext() {
    if (loader != null && !closed) {
      try {
        loader.execute(this::prepareSpare);
      } catch (RejectedExecutionException e) {
        LOG.log(Level.DEBUG, "the tier has been closed", e);
      }
    }
  }

  /** A part at a time, as long as nobody wants a file. */
  private void prepareSpare() {
    try {
      if (loading.isEmpty() && !closed && hostMemory.prepare(largestBytes)) {
        prepareNext();
      }
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "no memory is made ready for weights that come", e);
    }
  }

  public Statistics statistics() {
    return new Statistics(
        hits.sum(),
        misses.sum(),
        direct.sum(),
        heldBytes.get(),
        tables.heldBytes(),
        hostMemory.spareBytes(),
        filesAhead.sum(),
        bytesAhead.sum());
  }

  /** Lets go of everything; what is leased goes with its leases. */
  @Override
  public void close() {
    closed = true;
    if (loader != null) {
      loader.shutdown();
      awaitLoads(loader);
    }
    hostMemory.keepWithin(0);
    for (SharedWeights weights : held.asMap().values()) {
      dropped(weights);
    }
    held.invalidateAll();
  }

  private static void awaitLoads(ExecutorService loader) {
    try {
      if (!loader.awaitTermination(1, TimeUnit.MINUTES)) {
        LOG.log(Level.WARNING, "a weights file is still being read into memory");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
