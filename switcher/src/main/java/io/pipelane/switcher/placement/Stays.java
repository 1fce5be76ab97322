package io.pipelane.switcher.placement;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * The lifetimes of sessions that were built ahead on a device, by which it is decided whether that
 * pays. Not safe for several threads.
 */
final class Stays {
  /*
   * A session that has to leave soon shows that working memory is short, whatever is free of it
   * between two requests. The device rests then, and twice as long each time that this comes again.
   * After a rest it has one session built, and no other until that one has stayed. So what is built
   * in vain becomes ever rarer, however many models want a session.
   */

  /** What was built ahead and is there for so long has been worth its building. */
  static final Duration STAYED = Duration.ofMinutes(1);

  static final Duration FIRST_REST = Duration.ofSeconds(30);

  /** From half a minute to sixteen. */
  private static final int MOST_DOUBLINGS = 5;

  /** Those that were built in the last while. */
  private final List<Stay> young = new ArrayList<>();

  private int leftInTurn;
  private long restUntilNanos;

  /**
   * The sessions that were built ahead for a model.
   *
   * @param sessions that the model had then
   */
  record Stay(Route route, int sessions, long sinceNanos) {}

  /** Of a device on which nothing was built. */
  Stays(long nowNanos) {
    this.restUntilNanos = nowNanos;
  }

  /** A model's session was built ahead, with which it has so many. */
  void built(Route route, int sessions, long nowNanos) {
    young.add(new Stay(route, sessions, nowNanos));
  }

  /**
   * Looks for those that have left.
   *
   * @param stays whether what was built is there
   */
  void look(Predicate<Stay> stays, long nowNanos) {
    if (!young.stream().allMatch(stays)) {
      int doublings = Math.min(leftInTurn, MOST_DOUBLINGS);
      restUntilNanos = nowNanos + (FIRST_REST.toNanos() << doublings);
      leftInTurn = doublings + 1;
      young.clear();
    } else if (young.removeIf(stay -> nowNanos - stay.sinceNanos >= STAYED.toNanos())) {
      leftInTurn = 0;
    }
  }

  /** Whether another may be built. */
  boolean mayBuild(long nowNanos) {
    return nowNanos - restUntilNanos >= 0 && (leftInTurn == 0 || young.isEmpty());
  }
}
