package io.pipelane.switcher.kept;

import java.util.Map;

/**
 * The tensors that a device keeps between runs, and has kept, in figures.
 *
 * @param lentBytes of tensors that are kept now
 * @param takenBytes working memory that is taken for them, now or to be used again
 * @param tensors that were kept, since the start
 * @param notKept that went through host memory instead, since the start, by the reason
 */
public record KeptOverview(
    long lentBytes, long takenBytes, long tensors, Map<Obstacle, Long> notKept) {
  /** Nothing yet. */
  public static final KeptOverview NONE = new KeptOverview(0, 0, 0, Map.of());

  public KeptOverview {
    notKept = Map.copyOf(notKept);
  }

  /** The reason why a tensor is not kept that a later run reads. */
  public enum Obstacle {
    /** Who reads it is to run on another device. */
    ELSEWHERE,
    /** Requests wait that its reader may run together with, which is done on the host. */
    WAITING,
    /** The run answers several requests, or more rows, and is cut apart on the host. */
    BATCHED,
    /** There is no room, or none that a run that must not wait could have at once. */
    FULL
  }
}
