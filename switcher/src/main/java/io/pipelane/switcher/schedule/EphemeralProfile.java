package io.pipelane.switcher.schedule;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.modelstore.ModelVersion;

/**
 * How much run-time memory iterations took, by model and input shapes: the E of Salus' jobs. Safe
 * for any thread.
 */
final class EphemeralProfile {
  private static final int REMEMBERED = 10_000;

  private final Cache<RunKey, Long> peaks = Caffeine.newBuilder().maximumSize(REMEMBERED).build();

  /** Bytes that an iteration like this one took; 0 when none has run yet. */
  long expected(RunKey key) {
    Long peak = peaks.getIfPresent(key);
    return peak == null ? 0 : peak;
  }

  void observed(RunKey key, long peakBytes) {
    peaks.asMap().merge(key, peakBytes, Math::max);
  }

  void forget(ModelVersion model) {
    peaks.asMap().keySet().removeIf(key -> key.model().equals(model));
  }
}
