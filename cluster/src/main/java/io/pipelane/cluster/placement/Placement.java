package io.pipelane.cluster.placement;

/**
 * An offline job's place until the next matching.
 *
 * @param share of the device's multiprocessors that it may use
 * @param predicted its throughput there, over that of its own alone
 */
public record Placement(String job, String device, double share, double predicted) {}
