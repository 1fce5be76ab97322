package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.CaptureSettings;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Decides which shapes of one session are captured, for which variant where variants read in place,
 * and gives up on a session that cannot be. Belongs to the session's thread; {@link #refusal} is
 * for any.
 */
final class CapturePolicy {
  /**
   * Shapes that are counted at a time; a session asked for more of them is hardly ever repeated.
   */
  static final int SHAPES_COUNTED = 256;

  /** Requests that a shape which could not be captured waits for, beside the usual ones. */
  static final int POSTPONED_REQUESTS = 16;

  /** A capture takes as long as it saves in so many runs, and more. */
  static final int REQUESTS_THAT_PAY = 256;

  /** Something beside the model may have spoilt a capture once. */
  static final int ATTEMPTS = 2;

  private final CaptureSettings settings;
  private final Map<CaptureKey, Integer> requests = new LinkedHashMap<>(16, 0.75f, true);
  private int failures;
  private volatile @Nullable String refusal;
  private volatile @Nullable String suspension;

  CapturePolicy(CaptureSettings settings) {
    this.settings = settings;
  }

  /**
   * Counts a request that no capture serves; true when its shapes should be captured now.
   *
   * @param full whether another capture would have to go
   */
  boolean requested(CaptureKey key, boolean full) {
    if (refusal().isPresent() || settings.afterRequests() == 0 || settings.maximumCaptures() == 0) {
      return false;
    }
    int count = requests.merge(key, 1, Integer::sum);
    if (requests.size() > SHAPES_COUNTED) {
      requests.remove(requests.keySet().iterator().next());
    }
    return count >= settings.afterRequests() && (!full || paysInPlaceOfAnother(key, count));
  }

  /**
   * Variants that each need captures of their own are many, and would take them from each other.
   */
  private static boolean paysInPlaceOfAnother(CaptureKey key, int count) {
    return key.inPlaceAddress() == 0 || count >= REQUESTS_THAT_PAY;
  }

  /** Notes that shapes are captured; should the capture be dropped, counting begins anew. */
  void captured(CaptureKey key) {
    requests.remove(key);
    failures = 0;
  }

  /** Notes that a capture failed; after a few in a row none is tried again. */
  void failed(String reason) {
    failures++;
    if (failures == ATTEMPTS) {
      refusal = reason;
    }
  }

  /** Notes that a capture cannot be made now; many requests pass before it is tried again. */
  void postponed(CaptureKey key) {
    requests.put(key, -POSTPONED_REQUESTS);
  }

  /** Notes that the model cannot be captured, whatever its shapes. */
  void refused(String reason) {
    refusal = reason;
  }

  /** Notes that nothing is to be captured until {@link #resumed}. */
  void suspended(String reason) {
    suspension = reason;
  }

  /** Notes that there may be captures again. */
  void resumed() {
    suspension = null;
  }

  /** Why the session does not capture, if it has given up. */
  Optional<String> refusal() {
    return Optional.ofNullable(refusal).or(() -> Optional.ofNullable(suspension));
  }
}
