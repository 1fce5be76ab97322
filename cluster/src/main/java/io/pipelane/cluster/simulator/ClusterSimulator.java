package io.pipelane.cluster.simulator;

import io.pipelane.cluster.placement.OfflineJob;
import io.pipelane.cluster.placement.OfflinePlacement;
import io.pipelane.cluster.placement.OnlineDevice;
import io.pipelane.cluster.placement.Placement;
import io.pipelane.cluster.speed.MultiprocessorShare;
import io.pipelane.cluster.speed.SpeedPredictor;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.SplittableRandom;

/**
 * A day of a cluster under a scheme, minute by minute (MuxFlow §7). The same seed gives the same
 * outcome. Belongs to one thread.
 */
public final class ClusterSimulator {
  /*
   * Every interval, all jobs write checkpoints and are placed: by OfflinePlacement and a predictor
   * that was trained on sampled pairs, or at random on free devices. Between, each device has its
   * requests of the minute, and its job goes on as SharingModel says; SysMonitor looks at the minute
   * behind, and evicts. A job that ends leaves its device to online work until the next placement.
   * Latencies, utilisation and activity are those of the day; jobs may take a day more.
   */
  private static final int MINUTES_OF_A_DAY = 24 * 60;
  private static final int LAST_MINUTE = 2 * MINUTES_OF_A_DAY;
  private static final MultiprocessorShare FIXED = new MultiprocessorShare.Fixed(0.4);
  private static final double HEAT_SPREAD = 0.2;

  private final Scheme scheme;
  private final RequestRates rates;
  private final int interval;
  private final MultiprocessorShare shares;
  private final OfflinePlacement placement;
  private final List<SimulatedDevice> devices = new ArrayList<>();
  private final List<RunningJob> jobs;
  private final PriorityQueue<RunningJob> waiting =
      new PriorityQueue<>(Comparator.comparingInt(job -> job.job().number()));
  private final OnlineLatencies latencies;
  private final Random random;
  private int arrived;
  private int ended;
  private int moves;
  private int evictions;
  private double utilization;
  private double activity;

  /**
   * The setting of a simulation: what a cluster is made of, but for its scheme.
   *
   * @param fleet what devices are, and do
   * @param rates of the requests, and so the number of devices
   * @param interval from one placement to the next, whole minutes
   * @param overlimitPeriod for which an overloaded device takes no job at least, doubled by each
   *     entry; an eviction costs minutes here, where the server only stops at a gate
   * @param seed of the jobs, of devices' cooling, of places at random and of drawn latencies
   */
  public record Setting(
      VirtualCluster cluster,
      Fleet fleet,
      RequestRates rates,
      Duration interval,
      Duration overlimitPeriod,
      long seed) {
    public Setting {
      if (interval.compareTo(Duration.ofMinutes(1)) < 0 || interval.toSeconds() % 60 != 0) {
        throw new IllegalArgumentException(
            "the interval is " + interval + "; it must be of whole minutes, at least one");
      }
    }
  }

  /**
   * A cluster before its day.
   *
   * @param predictors by type of device; not asked where the scheme does not match
   */
  public ClusterSimulator(Setting setting, Scheme scheme, Map<String, SpeedPredictor> predictors) {
    Fleet fleet = setting.fleet();
    SplittableRandom heat = new SplittableRandom(setting.seed());
    this.scheme = scheme;
    this.rates = setting.rates();
    this.interval = (int) setting.interval().toMinutes();
    this.shares = scheme.complement() ? MultiprocessorShare.Complement.STANDARD : FIXED;
    this.placement = new OfflinePlacement(predictors, shares, setting.interval());
    for (int i = 0; i < rates.devices(); i++) {
      double warmth = Math.clamp(1 + HEAT_SPREAD * heat.nextGaussian(), 0.5, 2);
      devices.add(
          new SimulatedDevice(
              i, fleet.service(i), fleet.sharing(i, warmth), scheme, setting.overlimitPeriod()));
    }
    this.jobs =
        JobTrace.draw(setting.cluster(), fleet.models(), setting.seed()).stream()
            .map(RunningJob::new)
            .toList();
    this.latencies = new OnlineLatencies(rates.devices(), setting.seed());
    this.random = new Random(setting.seed());
  }

  /** Runs it to the end of the day, and until all jobs have ended. */
  public ClusterOutcome run() {
    boolean takesJobs = scheme.way() != SharingWay.ONLINE_ONLY;
    for (int minute = 0; minute < LAST_MINUTE; minute++) {
      if (minute >= MINUTES_OF_A_DAY && (!takesJobs || ended == jobs.size())) {
        break;
      }
      while (arrived < jobs.size() && jobs.get(arrived).job().arrival() <= minute) {
        waiting.add(jobs.get(arrived));
        arrived++;
      }
      if (takesJobs && minute % interval == 0) {
        place(minute);
      }
      for (SimulatedDevice device : devices) {
        pass(device, minute);
      }
    }
    return outcome();
  }

  /**
   * A job of the day, for a device that lives it. Times are minutes.
   *
   * @param arrival from the beginning of the day
   * @param alone that it takes on a device of its own
   * @param beginning that pass, once it has a device, until it computes there
   */
  public record DayJob(double arrival, double alone, double beginning) {}

  /** The jobs in the order of their coming. */
  public List<DayJob> jobs() {
    return jobs.stream()
        .map(job -> new DayJob(job.job().arrival(), job.job().alone(), job.moveMinutes()))
        .toList();
  }

  private void place(int minute) {
    List<OnlineDevice> described = new ArrayList<>();
    for (SimulatedDevice device : devices) {
      double rate = rates.meanBefore(minute, interval, device.number());
      OnlineDevice online =
          new OnlineDevice(
              device.id(), device.gpuType(), device.state(), device.service().profile(rate));
      described.add(online);
      device.setShare(shares.beside(online.online()));
      RunningJob job = device.job();
      if (job != null) {
        job.writeCheckpoint();
      }
    }
    if (scheme.matching()) {
      match(described);
    } else {
      placeAtRandom();
    }
  }

  private void placeAtRandom() {
    List<SimulatedDevice> free =
        new ArrayList<>(
            devices.stream()
                .filter(d -> d.job() == null && d.state() == SharingState.HEALTHY)
                .toList());
    Collections.shuffle(free, random);
    for (SimulatedDevice device : free) {
      RunningJob next = waiting.poll();
      if (next == null) {
        return;
      }
      begin(next, device);
    }
  }

  private void match(List<OnlineDevice> described) {
    List<RunningJob> asked = asked();
    List<OfflineJob> inOrder = asked.stream().map(RunningJob::described).toList();
    Map<String, Placement> plan = new HashMap<>();
    placement.plan(described, inOrder).forEach(place -> plan.put(place.job(), place));
    Map<String, SimulatedDevice> places = new HashMap<>();
    devices.forEach(device -> places.put(device.id(), device));
    Map<RunningJob, SimulatedDevice> begins = new LinkedHashMap<>();
    for (int i = 0; i < asked.size(); i++) {
      RunningJob job = asked.get(i);
      Placement place = plan.get(inOrder.get(i).id());
      SimulatedDevice to = place == null ? null : places.get(place.device());
      SimulatedDevice from = job.device();
      if (from != null && from == to) {
        continue;
      }
      if (from != null) {
        moves++;
        from.take(null);
        job.leave();
      }
      if (to == null) {
        waiting.add(job);
      } else {
        begins.put(job, to);
      }
    }
    begins.forEach(ClusterSimulator::begin);
  }

  /** Jobs on healthy devices, and those that wait, as many as there are such devices. */
  private List<RunningJob> asked() {
    List<RunningJob> asked = new ArrayList<>();
    int healthy = 0;
    for (SimulatedDevice device : devices) {
      if (device.state() == SharingState.HEALTHY) {
        healthy++;
        RunningJob job = device.job();
        if (job != null) {
          asked.add(job);
        }
      }
    }
    while (asked.size() < healthy && !waiting.isEmpty()) {
      asked.add(waiting.remove());
    }
    return asked;
  }

  private static void begin(RunningJob job, SimulatedDevice device) {
    device.take(job);
    job.beginOn(device);
  }

  private void pass(SimulatedDevice device, int minute) {
    double rate = rates.at(minute, device.number());
    Effect effect = device.effect(rate);
    OnlineService service = device.service();
    double run = effect.requestMillis();
    RequestWaits waits = RequestWaits.at(OnlineService.utilization(rate, run));
    if (minute < MINUTES_OF_A_DAY) {
      latencies.add(service, rate, effect, waits);
      utilization += effect.utilization();
      activity += effect.activity();
    }
    RunningJob job = device.job();
    if (job != null && job.advance(minute, effect.speed(), device.speed())) {
      device.take(null);
      ended++;
    }
    double spare = service.objectiveMillis() - service.hostMillis() - run;
    boolean overloaded = device.judge(effect, 1 - waits.beyond(spare / run), minute);
    job = device.job();
    if (overloaded && job != null) {
      evictions++;
      device.take(null);
      job.evict();
      waiting.add(job);
    }
  }

  private ClusterOutcome outcome() {
    List<RunningJob> done = jobs.stream().filter(RunningJob::hasEnded).toList();
    double minutes = (double) MINUTES_OF_A_DAY * devices.size();
    double alone = done.stream().mapToDouble(job -> job.job().alone()).sum();
    double had = done.stream().mapToDouble(RunningJob::onDevices).sum();
    return new ClusterOutcome(
        latencies.meanMillis(),
        latencies.p99Millis(),
        done.stream().mapToDouble(RunningJob::completion).average().orElse(Double.NaN),
        done.stream().mapToDouble(RunningJob::ended).max().orElse(0) / 60,
        had == 0 ? 0 : alone / had,
        utilization / minutes,
        activity / minutes,
        moves,
        evictions,
        jobs.size() - done.size());
  }
}
