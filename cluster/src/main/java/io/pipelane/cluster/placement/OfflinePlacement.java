package io.pipelane.cluster.placement;

import io.pipelane.cluster.matching.MaximumWeightMatching;
import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.cluster.speed.MultiprocessorShare;
import io.pipelane.cluster.speed.SpeedPredictor;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/**
 * The choice of which offline job shares which device until the next matching (MuxFlow §5,
 * algorithm 1): one at most for each healthy device, so that their normalised throughputs together
 * are greatest. For any thread.
 */
public final class OfflinePlacement {
  /*
   * An edge's weight is what the job would get done by the next matching: the throughput that is
   * predicted, for the time that is left after a move. So a job moves where the gain exceeds the
   * cost, which algorithm 1 does not ask. A job that runs nowhere pays for no move: it would wait
   * for ever where an interval is no longer than a move.
   *
   * Jobs take part in their order, as many as there are devices. With all of them in the graph, as
   * in the paper, those that share badly would wait as long as others come.
   *
   * A device that cannot run a job weighs nothing to it, and what weighs nothing is not matched.
   */
  private final Map<String, SpeedPredictor> predictors;
  private final ToDoubleFunction<OnlineDevice> shares;
  private final Duration interval;

  /**
   * Placement by these rules.
   *
   * @param predictors by type of GPU
   * @param interval from one matching to the next
   */
  public OfflinePlacement(
      Map<String, SpeedPredictor> predictors, MultiprocessorShare shares, Duration interval) {
    this(predictors, device -> shares.beside(device.online()), interval);
  }

  /**
   * The same where devices choose the share of their multiprocessors themselves.
   *
   * @param shares what a device has chosen for offline work, whichever comes
   */
  public OfflinePlacement(
      Map<String, SpeedPredictor> predictors,
      ToDoubleFunction<OnlineDevice> shares,
      Duration interval) {
    if (!interval.isPositive()) {
      throw new IllegalArgumentException("the interval is " + interval + "; it must be above 0");
    }
    this.predictors = Map.copyOf(predictors);
    this.shares = shares;
    this.interval = interval;
  }

  /**
   * Finds a place for as many jobs as there are healthy devices.
   *
   * @param devices of which those that are not healthy are left out
   * @param jobs in the order in which they are served, those on devices that are left out excepted
   * @throws StatusException when there is no predictor for a device's type
   */
  public List<Placement> plan(List<OnlineDevice> devices, List<OfflineJob> jobs) {
    List<OnlineDevice> healthy =
        devices.stream().filter(device -> device.state() == SharingState.HEALTHY).toList();
    List<OfflineJob> served = jobs.subList(0, Math.min(jobs.size(), healthy.size()));
    Map<WorkloadProfile, Integer> kinds = new LinkedHashMap<>();
    int[] kindOf =
        served.stream()
            .mapToInt(job -> kinds.computeIfAbsent(job.profile(), _ -> kinds.size()))
            .toArray();
    double[][] predicted = predict(healthy, List.copyOf(kinds.keySet()));
    double[][] weights = new double[served.size()][healthy.size()];
    for (int row = 0; row < weights.length; row++) {
      OfflineJob job = served.get(row);
      double afterMove = 1 - Math.min(1, (double) job.move().toNanos() / interval.toNanos());
      for (int column = 0; column < healthy.size(); column++) {
        String device = healthy.get(column).id();
        boolean stays = job.device().isEmpty() || job.device().equals(Optional.of(device));
        boolean isBarred = job.barred().contains(device);
        weights[row][column] =
            isBarred ? 0 : predicted[column][kindOf[row]] * (stays ? 1 : afterMove);
      }
    }
    int[] matched = MaximumWeightMatching.of(weights);
    List<Placement> plan = new ArrayList<>();
    for (int row = 0; row < matched.length; row++) {
      if (matched[row] < 0) {
        continue;
      }
      OnlineDevice device = healthy.get(matched[row]);
      plan.add(
          new Placement(
              served.get(row).id(),
              device.id(),
              shares.applyAsDouble(device),
              predicted[matched[row]][kindOf[row]]));
    }
    return plan;
  }

  /** By device and kind of job; jobs of equal profile are of one kind. */
  private double[][] predict(List<OnlineDevice> devices, List<WorkloadProfile> kinds) {
    double[][] predicted = new double[devices.size()][kinds.size()];
    for (int i = 0; i < predicted.length; i++) {
      OnlineDevice device = devices.get(i);
      SpeedPredictor predictor = predictor(device);
      double share = shares.applyAsDouble(device);
      for (int kind = 0; kind < kinds.size(); kind++) {
        predicted[i][kind] =
            predictor.normalizedThroughput(device.online(), kinds.get(kind), share);
      }
    }
    return predicted;
  }

  private SpeedPredictor predictor(OnlineDevice device) {
    SpeedPredictor predictor = predictors.get(device.gpuType());
    if (predictor == null) {
      throw new StatusException(
          Status.NOT_FOUND,
          "device %s is of type %s, of which there is no speed predictor (there are: %s); train one"
              .formatted(device.id(), device.gpuType(), predictors.keySet()));
    }
    return predictor;
  }
}
