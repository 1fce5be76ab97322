package io.pipelane.cluster.simulator;

import io.pipelane.cluster.speed.PerceptronPredictor;
import io.pipelane.cluster.speed.SpeedPredictor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The devices of a simulated cluster, and what services and jobs they have. */
public sealed interface Fleet {
  /** The service that a device has, and what its requests take there. */
  OnlineService service(int device);

  /** What jobs run, one as likely as another. */
  List<OfflineModel> models();

  /**
   * What becomes of two workloads on a device.
   *
   * @param heat how much of its type's loss of clock it has; 1 as most
   */
  SharingModel sharing(int device, double heat);

  /**
   * How fast jobs are predicted to be, over their speed on the fastest type, by type of device.
   *
   * @param epochs that predictors learn for
   */
  Map<String, SpeedPredictor> predictors(SharingWay way, int epochs, long seed);

  /**
   * Devices on assumed figures.
   *
   * @param host types of the devices of a host, as all hosts have them
   */
  record Assumed(List<GpuType> host) implements Fleet {
    private static final int TRAINING_PAIRS = 2_000;

    /** Small cards alone. */
    public static final Assumed SMALL = new Assumed(List.of(GpuType.T4_LIKE));

    public Assumed {
      if (host.isEmpty() || host.size() > 16) {
        throw new IllegalArgumentException("a host has 1 to 16 devices, not " + host.size());
      }
      host = List.copyOf(host);
    }

    private GpuType gpu(int device) {
      return host.get(device % host.size());
    }

    @Override
    public OnlineService service(int device) {
      return RequestRates.service(device).on(gpu(device));
    }

    @Override
    public List<OfflineModel> models() {
      return OfflineModel.ALL;
    }

    @Override
    public SharingModel sharing(int device, double heat) {
      return new AssumedSharing(gpu(device), heat);
    }

    @Override
    public Map<String, SpeedPredictor> predictors(SharingWay way, int epochs, long seed) {
      double fastest = host.stream().mapToDouble(GpuType::speed).max().orElseThrow();
      Map<String, SpeedPredictor> predictors = new HashMap<>();
      for (GpuType gpu : host) {
        predictors.computeIfAbsent(
            gpu.name(),
            _ -> {
              double part = gpu.speed() / fastest;
              SpeedPredictor learned =
                  PerceptronPredictor.train(
                      SampledPairs.draw(gpu, way, TRAINING_PAIRS, seed), epochs, seed);
              return (online, offline, share) ->
                  part * learned.normalizedThroughput(online, offline, share);
            });
      }
      return predictors;
    }
  }

  /** Devices on which all have done what one pair of workloads did on a real one. */
  record Measured(MeasuredSharing sharing) implements Fleet {
    @Override
    public OnlineService service(int device) {
      return sharing.online(RequestRates.service(device).peakHour());
    }

    @Override
    public List<OfflineModel> models() {
      return List.of(MeasuredSharing.offline());
    }

    @Override
    public SharingModel sharing(int device, double heat) {
      return sharing;
    }

    @Override
    public Map<String, SpeedPredictor> predictors(SharingWay way, int epochs, long seed) {
      return Map.of(sharing.gpu().name(), sharing.predictor(way));
    }
  }
}
