package io.pipelane.modelstore.host;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.config.ByteSize;
import io.pipelane.modelstore.WeightSource;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Weights kept ready for transfer in host memory, up to a bound; beyond it they are read from disk.
 * Safe for any thread.
 *
 * <p>On the CPU device, and unpinned, what is kept is a mapping: the bytes are the page cache's, so
 * they are not in memory twice.
 */
public final class HostTier implements AutoCloseable {
  /*
   * Caffeine decides what stays. An entry that it gives up is unmapped when its last lease closes;
   * an entry that it does not admit is never leased, its weights are read from disk instead, so
   * that mappings stay within the bound but for leases of entries given up under them.
   */
  private static final int WEIGHT_UNIT = 1 << 10;

  private final long capacityBytes;
  private final MemoryPinner pinner;
  private final Cache<Path, MappedWeights> mapped;
  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private final LongAdder direct = new LongAdder();
  private final AtomicLong mappedBytes = new AtomicLong();

  /**
   * How the tier has been used.
   *
   * @param hits leases on weights that were mapped already
   * @param misses leases that had to map them
   * @param direct leases that read from disk, for want of room
   * @param mappedBytes what the tier holds
   */
  public record Statistics(long hits, long misses, long direct, long mappedBytes) {}

  public HostTier(ByteSize capacity, MemoryPinner pinner) {
    this.capacityBytes = capacity.bytes();
    this.pinner = pinner;
    this.mapped =
        Caffeine.newBuilder()
            .maximumWeight(capacityBytes / WEIGHT_UNIT)
            .weigher((Path file, MappedWeights weights) -> weigh(weights))
            .evictionListener((file, weights, cause) -> dropped(weights))
            .executor(Runnable::run)
            .build();
  }

  private static int weigh(MappedWeights weights) {
    long units = Math.ceilDiv(weights.memory().byteSize(), WEIGHT_UNIT);
    return (int) Math.min(Integer.MAX_VALUE, units);
  }

  private void dropped(@org.jspecify.annotations.Nullable MappedWeights weights) {
    if (weights != null) {
      mappedBytes.addAndGet(-weights.memory().byteSize());
      weights.evict();
    }
  }

  /**
   * Leases the weights of a model.
   *
   * @param weights its weights file, which must not change
   * @param byteSize the file's size
   * @throws java.io.UncheckedIOException when the file cannot be opened
   */
  public WeightSource open(Path weights, long byteSize) {
    if (byteSize <= capacityBytes) {
      boolean[] missed = new boolean[1];
      MappedWeights entry =
          mapped.get(
              weights,
              file -> {
                missed[0] = true;
                MappedWeights fresh = MappedWeights.map(file, pinner);
                mappedBytes.addAndGet(fresh.memory().byteSize());
                return fresh;
              });
      if (entry.retain()) {
        (missed[0] ? misses : hits).increment();
        return new MappedSource(entry);
      }
    }
    direct.increment();
    return FileSource.open(weights);
  }

  public Statistics statistics() {
    return new Statistics(hits.sum(), misses.sum(), direct.sum(), mappedBytes.get());
  }

  /** Lets go of every mapping; leased ones go with their leases. */
  @Override
  public void close() {
    for (MappedWeights weights : mapped.asMap().values()) {
      dropped(weights);
    }
    mapped.invalidateAll();
  }
}
