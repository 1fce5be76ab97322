package io.pipelane.switcher.worker;

import io.pipelane.switcher.memory.Structure;
import java.util.List;

/**
 * The sessions that exist at one moment, by structure, and how many came and went.
 *
 * @param built sessions built since the start
 * @param evicted sessions closed to make room for something else
 */
public record SessionOverview(List<Entry> entries, long built, long evicted) {
  public SessionOverview {
    entries = List.copyOf(entries);
  }

  /** Working memory that all sessions take. */
  public long bytes() {
    return entries.stream().mapToLong(Entry::bytes).sum();
  }

  /** What libraries hold of that. */
  public long frameworkBytes() {
    return entries.stream().mapToLong(Entry::frameworkBytes).sum();
  }

  /**
   * One structure's sessions.
   *
   * @param structure its hash
   * @param sessions how many there are: one, or one for each lane that has run it
   * @param unasked those of them that stand ready, without a request so far
   * @param ranAhead those of these that have run all the same, ahead of any request
   * @param bytes working memory that they take
   * @param frameworkBytes what libraries hold of that
   */
  public record Entry(
      String structure, int sessions, int unasked, int ranAhead, long bytes, long frameworkBytes) {

    static Entry of(Structure structure, List<PooledSession> sessions, long nowNanos) {
      List<PooledSession> unasked =
          sessions.stream().filter(session -> session.isUnasked(nowNanos)).toList();
      return new Entry(
          structure.hash(),
          sessions.size(),
          unasked.size(),
          (int) unasked.stream().filter(session -> session.hasRunAhead).count(),
          sessions.stream().mapToLong(session -> session.bytes).sum(),
          sessions.stream().mapToLong(PooledSession::frameworkBytes).sum());
    }
  }
}
