package io.pipelane.switcher.placement;

/**
 * A device among others.
 *
 * @param usable false once it is lost
 * @param models that have it as their device, or as one of them
 * @param replicas of those, models that others have as well
 * @param lodgers models that it holds for others
 * @param routed requests that were given to it, since the start
 * @param rerouted of those, requests that others answered because it was lost
 * @param online what it has answered of online requests, where there are several devices
 * @param offline the same of offline ones
 */
public record MemberOverview(
    boolean usable,
    int models,
    int replicas,
    int lodgers,
    long routed,
    long rerouted,
    Work online,
    Work offline) {

  /**
   * Requests that were answered, since the start.
   *
   * @param runNanos how long they computed: without their waits in line, at gates and for weights,
   *     and a batch's run counted once
   */
  public record Work(long requests, long runNanos) {
    public static final Work NONE = new Work(0, 0);
  }
}
