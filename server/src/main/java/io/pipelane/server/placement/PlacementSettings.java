package io.pipelane.server.placement;

import java.nio.file.Path;
import java.time.Duration;

/**
 * The settings by which offline jobs are placed.
 *
 * @param folder that what is learnt of workloads is kept in; made where it is missing
 * @param gpuType what profiles are kept by: the devices' kind, the same of all
 * @param interval from one matching to the next
 */
public record PlacementSettings(Path folder, String gpuType, Duration interval) {}
