package io.pipelane.server;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.device.OpenParts;
import io.pipelane.server.device.ServingDevices;
import io.pipelane.server.jobs.JobParts;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.jobs.JobsSettings;
import io.pipelane.server.placement.JobPlacement;
import io.pipelane.server.placement.PlacementSettings;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/** The opening of what a configuration says of jobs: their folder, and who places them. */
final class JobsOpening {
  private static final Duration RETRY_PAUSE = Duration.ofSeconds(1);

  private static final double PERCENT = 100;

  private final PipelaneConfig config;
  private final ServingDevices devices;
  private final OpenParts opened;

  /**
   * Nothing is open yet.
   *
   * @param opened is given what has to be closed
   */
  JobsOpening(PipelaneConfig config, ServingDevices devices, OpenParts opened) {
    this.config = config;
    this.devices = devices;
    this.opened = opened;
  }

  /** Jobs are placed where there are several devices to choose from. */
  Optional<JobPlacement> placement(ImportTarget target) {
    Optional<Path> folder = config.jobs().folder().filter(Files::isDirectory);
    Duration interval = config.placement().offlineInterval();
    if (folder.isEmpty() || devices.count() == 1 || interval.isZero()) {
      return Optional.empty();
    }
    String gpuType =
        switch (target.graph()) {
          case PROCESSOR -> "cpu";
          case GPU -> target.deviceIdentity().lines().collect(Collectors.joining(" "));
        };
    Path learnt = folder.get().resolve(".placement");
    try {
      JobPlacement opening =
          opened.add(
              JobPlacement.open(
                  new PlacementSettings(learnt, gpuType, interval),
                  devices::readings,
                  devices::devicesThatCanServe,
                  System::nanoTime));
      opening.start();
      return Optional.of(opening);
    } catch (IOException e) {
      throw unusable("what placement has learnt, below jobs.folder,", learnt, e);
    }
  }

  /** Empty where no folder is configured. */
  Optional<Jobs> jobs(
      ModelCatalog catalog,
      InferenceService service,
      InferenceStatistics statistics,
      Optional<JobPlacement> placement) {
    if (config.jobs().folder().isEmpty()) {
      return Optional.empty();
    }
    Path folder = config.jobs().folder().get();
    if (!Files.isDirectory(folder)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "jobs.folder is %s, which is no folder; make it, or name another".formatted(folder));
    }
    JobParts parts =
        new JobParts(
            settings(folder), catalog, service, statistics, new SecureRandom(), Clock.systemUTC());
    try {
      return Optional.of(opened.add(Jobs.open(parts, placement)));
    } catch (IOException e) {
      throw unusable("jobs.folder", folder, e);
    }
  }

  private JobsSettings settings(Path folder) {
    return new JobsSettings(
        folder,
        config.jobs().concurrency(),
        config.jobs().parallelItems(),
        config.jobs().checkpointIterations(),
        config.jobs().maxJobs(),
        Math.toIntExact(config.server().maxRequestSize().bytes()),
        ageing(),
        RETRY_PAUSE,
        config.sharing().offlineNice(),
        config.sharing().offlineProcessors());
  }

  /** Of policies srtf alone goes by what a job needs that has not begun. */
  private OptionalDouble ageing() {
    return switch (config.scheduling().policy()) {
      case SRTF -> OptionalDouble.of(config.scheduling().ageingPercent() / PERCENT);
      case EDF, FAIR, PACK, FIFO -> OptionalDouble.empty();
    };
  }

  /** The cause with its class: the message of a refused access is no more than the path. */
  static StatusException unusable(String what, Path folder, IOException e) {
    boolean isOfFolder =
        e instanceof FileSystemException refused
            && refused.getFile() != null
            && Path.of(refused.getFile()).startsWith(folder);
    return new StatusException(
        Status.UNAVAILABLE,
        "%s %s cannot be used: %s%s"
            .formatted(what, folder, e, isOfFolder ? "; name a folder that can be written" : ""),
        e);
  }
}
