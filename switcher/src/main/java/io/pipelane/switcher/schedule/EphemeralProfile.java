package io.pipelane.switcher.schedule;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.switcher.InferenceRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * How much run-time memory iterations took, by model and input shapes: the E of Salus' jobs. Safe
 * for any thread.
 */
final class EphemeralProfile {
  private static final int REMEMBERED = 10_000;

  private final Cache<Key, Long> peaks = Caffeine.newBuilder().maximumSize(REMEMBERED).build();

  /** What an iteration is known by. */
  Key keyOf(InferenceRequest request) {
    List<Shape> shapes = new ArrayList<>(request.inputs().size());
    for (InputTensor input : request.inputs()) {
      shapes.add(input.shape());
    }
    return new Key(request.model(), shapes);
  }

  /** Bytes that an iteration like this one took; 0 when none has run yet. */
  long expected(Key key) {
    Long peak = peaks.getIfPresent(key);
    return peak == null ? 0 : peak;
  }

  void observed(Key key, long peakBytes) {
    peaks.asMap().merge(key, peakBytes, Math::max);
  }

  void forget(ModelVersion model) {
    peaks.asMap().keySet().removeIf(key -> key.model().equals(model));
  }

  record Key(ModelVersion model, List<Shape> shapes) {}
}
