package io.pipelane.switcher.schedule.run;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.schedule.estimate.RunKey;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Sizes of the share of multiprocessors in which runs of a model have failed, and runs that are too
 * large for its lane, for ten minutes each. Safe for any thread.
 */
final class UnfitSizes {
  static final int NONE = -1;
  private static final Duration UNFIT = Duration.ofMinutes(10);

  /** Runs that are known to be too large; of others it is found out again. */
  private static final int MOST_TOO_LARGE = 1_000;

  private record Place(ModelVersion model, int size) {}

  private final Map<Place, Long> until = new ConcurrentHashMap<>();
  private final Cache<RunKey, Boolean> tooLarge;
  private final LongSupplier nanoClock;

  UnfitSizes(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
    this.tooLarge =
        Caffeine.newBuilder()
            .maximumSize(MOST_TOO_LARGE)
            .expireAfterWrite(UNFIT)
            .ticker(nanoClock::getAsLong)
            .build();
  }

  /** A run of a model has failed there. */
  void add(ModelVersion model, int size) {
    until.put(new Place(model, size), nanoClock.getAsLong() + UNFIT.toNanos());
  }

  /** The largest size up to one in which runs of a model have not failed; NONE for none. */
  int fitting(ModelVersion model, int most) {
    for (int size = most; size >= 0; size--) {
      if (isFit(model, size)) {
        return size;
      }
    }
    return NONE;
  }

  private boolean isFit(ModelVersion model, int size) {
    return isOver(until.get(new Place(model, size)));
  }

  /**
   * A run wants more than the lane may take, which all sizes have the same of; so do steps of about
   * its size.
   */
  void addTooLarge(RunKey run) {
    tooLarge.put(run.ofAboutThatSize(), true);
  }

  /** Whether runs like that do. */
  boolean isTooLarge(RunKey run) {
    return tooLarge.getIfPresent(run.ofAboutThatSize()) != null;
  }

  /** How many of those are known. */
  long tooLarge() {
    tooLarge.cleanUp();
    return tooLarge.estimatedSize();
  }

  private boolean isOver(@Nullable Long end) {
    return end == null || end - nanoClock.getAsLong() <= 0;
  }

  /** What is known of a model is void. */
  void forget(ModelVersion model) {
    until.keySet().removeIf(place -> place.model().equals(model));
    tooLarge.asMap().keySet().removeIf(run -> run.model().equals(model));
  }
}
