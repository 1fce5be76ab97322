package io.pipelane.switcher.worker;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Sessions that may be closed, and which of them goes first; as they are at one moment, under the
 * pool's lock.
 */
record IdleSessions(List<PooledSession> all, long nowNanos) {
  static IdleSessions of(Collection<PooledSession> sessions, long nowNanos) {
    return new IdleSessions(sessions.stream().filter(PooledSession::canGo).toList(), nowNanos);
  }

  /** Those that nobody has asked for since they were built. */
  IdleSessions unasked() {
    return new IdleSessions(
        all.stream().filter(session -> session.isUnasked(nowNanos)).toList(), nowNanos);
  }

  /** What closing all of them would free. */
  long bytes() {
    return all.stream().mapToLong(session -> session.bytes).sum();
  }

  /** The one that costs least to lose. */
  Optional<PooledSession> leastWorth() {
    return all.stream().min(Comparator.comparingDouble(session -> session.value(nowNanos)));
  }

  /**
   * The first to be closed, of as few as possible, for so many bytes more: the smallest that is
   * enough, or else the largest. Empty where all together are not enough.
   */
  Optional<PooledSession> towards(long missingBytes) {
    if (bytes() < missingBytes) {
      return Optional.empty();
    }
    Comparator<PooledSession> bySize = Comparator.comparingLong(session -> session.bytes);
    return all.stream()
        .filter(session -> session.bytes >= missingBytes)
        .min(bySize)
        .or(() -> all.stream().max(bySize));
  }
}
