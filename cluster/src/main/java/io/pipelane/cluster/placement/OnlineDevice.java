package io.pipelane.cluster.placement;

import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.switcher.sharing.monitor.SharingState;

/**
 * A device and the online workload that it has.
 *
 * @param gpuType whose speed predictor counts
 * @param state as the device's host says
 * @param online what the online workload does to it
 */
public record OnlineDevice(String id, String gpuType, SharingState state, WorkloadProfile online) {}
