package io.pipelane.cluster.simulator;

/**
 * The effect of sharing a device.
 *
 * @param requestMillis what an online request takes on the device once it runs
 * @param speed of the offline workload, over that of its own alone
 * @param utilization of the time, that in which something runs
 * @param activity of the multiprocessors, those that are busy
 * @param clock of the highest
 */
record Effect(
    double requestMillis, double speed, double utilization, double activity, double clock) {}
