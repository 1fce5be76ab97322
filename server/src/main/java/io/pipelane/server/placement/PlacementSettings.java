package io.pipelane.server.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.nio.file.Path;
import java.time.Duration;

/**
 * How offline jobs are placed.
 *
 * @param folder that what is learnt of workloads is kept in; made where it is missing
 * @param gpuType what profiles are kept by: the devices' kind, the same of all
 * @param interval from one matching to the next, a second at least
 */
public record PlacementSettings(Path folder, String gpuType, Duration interval) {
  /** Between two looks nothing new is known. */
  static final Duration LEAST_INTERVAL = Duration.ofSeconds(1);

  public PlacementSettings {
    if (interval.compareTo(LEAST_INTERVAL) < 0) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "placement.offline-interval is %d ms; it must be 0 or at least %d ms"
              .formatted(interval.toMillis(), LEAST_INTERVAL.toMillis()));
    }
  }
}
