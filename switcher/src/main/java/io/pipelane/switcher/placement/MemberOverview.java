package io.pipelane.switcher.placement;

/**
 * A device among others.
 *
 * @param usable false once it is lost
 * @param models that have it as their device, or as one of them
 * @param replicas of those, models that others have as well
 * @param routed requests that were given to it, since the start
 * @param rerouted of those, requests that others answered because it was lost
 */
public record MemberOverview(
    boolean usable, int models, int replicas, long routed, long rerouted) {}
