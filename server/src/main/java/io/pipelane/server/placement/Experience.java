package io.pipelane.server.placement;

import io.pipelane.cluster.profile.ProfileStore;
import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.cluster.speed.MeasuredPair;
import io.pipelane.cluster.speed.SpeedPredictor;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.ThreadPriority;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The knowledge of workloads on this host's devices, kept in files: their profiles, how fast jobs
 * were beside online work, and what a predictor has learnt of that (MuxFlow §4). {@link #profiled}
 * and {@link #reached} belong to one thread, everything else is for any, and at once.
 */
final class Experience implements AutoCloseable {
  /*
   * Learning takes seconds, so it has a thread of its own; pairs that are measured while it still
   * learns are left out.
   */
  private static final System.Logger LOG = System.getLogger(Experience.class.getName());

  /** Of a job that has not been profiled. */
  static final WorkloadProfile UNKNOWN = OnlineWatch.IDLE;

  private static final int LEAST_URGENT = 19;

  private final String gpuType;
  private final ProfileStore profiles;
  private final SpeedLearning speeds;
  private final ExecutorService learner =
      Executors.newSingleThreadExecutor(
          task ->
              Thread.ofPlatform()
                  .daemon()
                  .name("placement-learning")
                  .unstarted(
                      () -> {
                        boolean _ = ThreadPriority.yieldToOthers(LEAST_URGENT);
                        task.run();
                      }));
  private Future<?> learning = CompletableFuture.completedFuture(null);

  private Experience(String gpuType, ProfileStore profiles, SpeedLearning speeds) {
    this.gpuType = gpuType;
    this.profiles = profiles;
    this.speeds = speeds;
  }

  /**
   * Reads what a folder has, which is made where it is missing.
   *
   * @param gpuType what the devices are, all of them
   */
  static Experience open(Path folder, String gpuType) throws IOException {
    Files.createDirectories(folder);
    return new Experience(
        gpuType,
        opened(folder.resolve("profiles.tsv"), ProfileStore::open),
        opened(folder.resolve("pairs.tsv"), SpeedLearning::new));
  }

  @FunctionalInterface
  private interface Opening<T> {
    T open(Path file) throws IOException;
  }

  /** Opens a file, or begins anew: a server is not kept from its work by what it can learn anew. */
  private static <T> T opened(Path file, Opening<T> opening) throws IOException {
    try {
      return opening.open(file);
    } catch (IOException | StatusException e) {
      Path aside = file.resolveSibling(file.getFileName() + ".damaged");
      LOG.log(Level.WARNING, "{0} is damaged, and begun anew; it lies in {1}: {2}", file, aside, e);
      Files.move(file, aside, StandardCopyOption.REPLACE_EXISTING);
      return opening.open(file);
    }
  }

  /** The profile of a workload. */
  Optional<WorkloadProfile> find(String workload) {
    return profiles.find(workload, gpuType);
  }

  /** Keeps profiles by their workloads; writes a file. */
  void profiled(Map<String, WorkloadProfile> profiled) {
    try {
      for (Map.Entry<String, WorkloadProfile> each : profiled.entrySet()) {
        profiles.put(each.getKey(), gpuType, each.getValue());
      }
    } catch (IOException | RuntimeException e) { // Jobs are matched all the same.
      LOG.log(Level.WARNING, "profiles of offline jobs were not kept", e);
    }
  }

  /** Learns of what jobs have reached, in time; at once, and not while it still learns. */
  void reached(List<MeasuredPair> pairs) {
    if (!pairs.isEmpty() && learning.isDone()) {
      learning = learner.submit(() -> learn(pairs));
    }
  }

  private void learn(List<MeasuredPair> pairs) {
    try {
      speeds.add(pairs);
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "what offline jobs reached was not kept", e);
    }
  }

  /** What has been learnt so far. */
  SpeedLearning.Learnt learnt() {
    return speeds.learnt();
  }

  /** What has been learnt, and the gates' rule for what has not. */
  SpeedPredictor predictor() {
    Optional<SpeedPredictor> learnt = speeds.learnt().predictor();
    return (online, offline, share) ->
        learnt.isEmpty() || offline.equals(UNKNOWN)
            ? GateRule.throughput(online)
            : learnt.get().normalizedThroughput(online, offline, share);
  }

  /** By what a job's place is chosen. */
  JobPlace.By by(Optional<WorkloadProfile> profile) {
    return profile.isPresent() && speeds.learnt().predictor().isPresent()
        ? JobPlace.By.PREDICTOR
        : JobPlace.By.RULE;
  }

  /**
   * The throughput of a job beside a device's online work, with the share that it would have there,
   * over that of its own alone.
   */
  double predicted(OnlineWatch at, Optional<WorkloadProfile> offline) {
    return predictor().normalizedThroughput(at.profile(), offline.orElse(UNKNOWN), at.share());
  }

  /** Learns no more. */
  @Override
  public void close() {
    learner.close();
  }
}
