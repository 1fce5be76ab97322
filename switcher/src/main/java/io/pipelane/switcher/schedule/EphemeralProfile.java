package io.pipelane.switcher.schedule;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.switcher.InferenceRequest;
import java.util.List;

/**
 * How much run-time memory iterations took, by model and input shapes: the E of Salus' jobs. Safe
 * for any thread.
 */
final class EphemeralProfile {
  private static final int REMEMBERED = 10_000;

  private final Cache<Key, Long> peaks = Caffeine.newBuilder().maximumSize(REMEMBERED).build();

  /** Bytes that an iteration like this one took; 0 when none has run yet. */
  long expected(InferenceRequest request) {
    Long peak = peaks.getIfPresent(Key.of(request));
    return peak == null ? 0 : peak;
  }

  void observed(InferenceRequest request, long peakBytes) {
    peaks.asMap().merge(Key.of(request), peakBytes, Math::max);
  }

  private record Key(ModelVersion model, List<Shape> shapes) {
    static Key of(InferenceRequest request) {
      return new Key(request.model(), request.inputs().stream().map(InputTensor::shape).toList());
    }
  }
}
