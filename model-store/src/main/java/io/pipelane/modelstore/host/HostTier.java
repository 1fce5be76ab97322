package io.pipelane.modelstore.host;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.config.ByteSize;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Weights kept ready for transfer in host memory, up to a bound; beyond it they are read from disk.
 * Safe for any thread.
 */
public final class HostTier implements HostWeights, AutoCloseable {
  /*
   * Caffeine decides what stays. An entry that it gives up is freed when its last lease closes; an
   * entry that it does not admit is never leased, its weights are read from disk instead, so that
   * the tier stays within its bound but for a load under way and for leases of entries given up
   * under them.
   *
   * What is read in place in filled memory must stay while its model is registered, so the cache is
   * given what that leaves of the bound. On the processor it is the page cache's: the system may
   * drop it, so it is in no bound.
   *
   * Mapping a file takes no time, so whoever wants it does it. Filling memory does, and whoever
   * wants it may hold locks: it never waits for a lease. The loader's thread fills memory, and the
   * lease follows it (FollowingSource), so the disk is read once; where the loader is busy with
   * another file, or fails, or keeps nothing, the lease reads the file itself.
   *
   * A filled entry has one user more until nobody follows any longer: what the cache does not admit
   * is given up at once.
   */
  private static final System.Logger LOG = System.getLogger(HostTier.class.getName());
  private static final int WEIGHT_UNIT = 1 << 10;

  private final long capacityBytes;
  private final HostMemory hostMemory;
  private final @Nullable ExecutorService loader;
  private final Cache<Path, SharedWeights> held;
  private final HeldTables tables;
  private final Map<Path, Filling> loading = new ConcurrentHashMap<>();
  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private final LongAdder direct = new LongAdder();
  private final AtomicLong heldBytes = new AtomicLong();
  private volatile boolean closed;

  /**
   * How the tier has been used.
   *
   * @param hits leases on weights that were in memory already
   * @param misses leases that had to map them
   * @param direct leases that read from disk
   * @param heldBytes what the tier holds
   * @param inPlaceBytes what it holds beside that because it is read in place; not what is mapped
   */
  public record Statistics(
      long hits, long misses, long direct, long heldBytes, long inPlaceBytes) {}

  private HostTier(ByteSize capacity, HostMemory hostMemory, @Nullable ExecutorService loader) {
    this.capacityBytes = capacity.bytes();
    this.hostMemory = hostMemory;
    this.loader = loader;
    this.held =
        Caffeine.newBuilder()
            .maximumWeight(capacityBytes / WEIGHT_UNIT)
            .weigher((Path file, SharedWeights weights) -> weigh(weights))
            .evictionListener((file, weights, cause) -> dropped(weights))
            .executor(Runnable::run)
            .build();
    this.tables = new HeldTables(capacityBytes, hostMemory, this::leaveRoom);
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
    held.policy()
        .eviction()
        .ifPresent(bound -> bound.setMaximum((capacityBytes - inPlaceBytes) / WEIGHT_UNIT));
    held.cleanUp();
  }

  private long roomBytes() {
    return capacityBytes - tables.heldBytes();
  }

  private static int weigh(SharedWeights weights) {
    long units = Math.ceilDiv(weights.memory().byteSize(), WEIGHT_UNIT);
    return (int) Math.min(Integer.MAX_VALUE, units);
  }

  private void dropped(@Nullable SharedWeights weights) {
    if (weights != null) {
      heldBytes.addAndGet(-weights.memory().byteSize());
      weights.evict();
    }
  }

  /**
   * Fills memory with a model's weights ahead of their first lease, if there is room without giving
   * up others'; blocks until they are there.
   *
   * @throws UncheckedIOException when the file cannot be read
   */
  public void prepare(Path weights, long byteSize) {
    if (loader != null && heldBytes.get() + byteSize <= roomBytes()) {
      load(weights);
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
    if (byteSize <= roomBytes()) {
      Optional<WeightSource> present = held(weights);
      if (present.isPresent()) {
        hits.increment();
        return present.get();
      }
      if (loader == null) {
        SharedWeights mapped = load(weights);
        if (mapped.retain()) {
          misses.increment();
          return new SharedSource(mapped);
        }
      }
    }
    direct.increment();
    Optional<Filling> filling =
        byteSize <= roomBytes() && loader != null ? filling(weights, loader) : Optional.empty();
    WeightSource file = FileSource.open(weights);
    return filling.isPresent()
        ? new FollowingSource(filling.get(), file, () -> held(weights))
        : file;
  }

  private Optional<WeightSource> held(Path weights) {
    SharedWeights present = held.getIfPresent(weights);
    return present != null && present.retain()
        ? Optional.of(new SharedSource(present))
        : Optional.empty();
  }

  /** What a file is being loaded into; has it loaded if it is not, unless the tier is closed. */
  private Optional<Filling> filling(Path weights, ExecutorService loader) {
    try {
      return Optional.of(
          loading.computeIfAbsent(
              weights,
              file -> {
                loader.execute(() -> loadQuietly(file));
                return new Filling();
              }));
    } catch (RejectedExecutionException e) {
      return Optional.empty();
    }
  }

  /** Maps a file or fills memory with it, unless it is there; blocks. */
  private SharedWeights load(Path weights) {
    Filling filling = loading.computeIfAbsent(weights, file -> new Filling());
    AtomicReference<@Nullable SharedWeights> filled = new AtomicReference<>();
    try {
      return held.get(
          weights,
          file -> {
            SharedWeights fresh = entered(file, filling);
            fresh.retain();
            filled.set(fresh);
            return fresh;
          });
    } finally {
      loading.remove(weights, filling);
      filling.end();
      SharedWeights fresh = filled.get();
      if (fresh != null) {
        fresh.release();
      }
    }
  }

  private SharedWeights entered(Path file, Filling filling) {
    try {
      SharedWeights fresh = new SharedWeights(hostMemory.load(file, filling));
      heldBytes.addAndGet(fresh.memory().byteSize());
      return fresh;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void loadQuietly(Path weights) {
    try {
      if (!closed) {
        load(weights);
      }
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "{0} stays on disk: {1}", weights, e);
    }
  }

  public Statistics statistics() {
    return new Statistics(
        hits.sum(), misses.sum(), direct.sum(), heldBytes.get(), tables.heldBytes());
  }

  /** Lets go of everything; what is leased goes with its leases. */
  @Override
  public void close() {
    closed = true;
    if (loader != null) {
      loader.shutdown();
      awaitLoads(loader);
    }
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
