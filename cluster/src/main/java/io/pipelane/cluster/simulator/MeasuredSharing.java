package io.pipelane.cluster.simulator;

import io.pipelane.cluster.speed.SpeedPredictor;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/**
 * The measured effects of one online and one offline workload on each other on a real device, at
 * some rates of requests and shares of the multiprocessors.
 */
public final class MeasuredSharing implements SharingModel {
  /*
   * Between measured rates all goes in straight lines: from the offline workload alone to the least
   * rate, and on beyond the greatest as before it. What requests take is, over alone, that of the
   * nearest rate at both ends. Between measured shares the same holds, and beyond them the nearest
   * counts.
   *
   * Mean latencies are measured, at every rate. A device alone that is asked seldom falls asleep,
   * so requests take longer there than the queue says. What a request takes on the device is chosen
   * to make the queue's mean the measured one; so the distribution is the queue's. The clock was
   * not measured, and stays. Nobody had a throttle: one takes its part of both the speed and the
   * slowdown.
   */
  private static final double LEAST_SPEED = 0.01;

  private final String device;
  private final OnlineService online;
  private final List<Point> alone;
  private final Map<SharingWay, TreeMap<Double, List<Point>>> ways =
      new EnumMap<>(SharingWay.class);

  /**
   * A measurement.
   *
   * @param rate of online requests, a second; 0 for offline work alone
   * @param slowdown mean latency of online requests, over that alone; alone over that of a queue
   *     whose requests all take the same, see {@link #queueMillis}
   * @param speed of the offline work, over the best it does alone
   * @param utilization of the time, that in which something ran; no number if not measured
   * @param activity of the multiprocessors, those that were busy; no number if not measured
   */
  public record Point(
      double rate, double slowdown, double speed, double utilization, double activity) {}

  /**
   * Nothing is known of any way to share yet.
   *
   * @param device its name
   * @param deviceMillis what a request takes on the device
   * @param hostMillis what it takes besides
   * @param alone online work without the other, by rising rates, two at least
   */
  public MeasuredSharing(String device, double deviceMillis, double hostMillis, List<Point> alone) {
    requireRising(alone);
    this.device = device;
    this.alone = List.copyOf(alone);
    this.online =
        new OnlineService(
            "measured",
            deviceMillis,
            hostMillis,
            busyActivity(alone.getLast(), deviceMillis),
            1,
            0,
            0);
  }

  /** While a request runs; all of them if it was not measured. */
  private static double busyActivity(Point alone, double deviceMillis) {
    double busy = alone.rate * deviceMillis / 1e3;
    return Double.isNaN(alone.activity) ? 1 : Math.min(1, alone.activity / busy);
  }

  /**
   * The mean latency of requests that come at random and wait for each other.
   *
   * @param deviceMillis what each takes on the device
   * @param hostMillis what it takes besides
   */
  public static double queueMillis(double deviceMillis, double hostMillis, double rate) {
    double busy = OnlineService.utilization(rate, deviceMillis);
    return hostMillis + deviceMillis * (1 + RequestWaits.at(busy).mean());
  }

  private static void requireRising(List<Point> points) {
    boolean rises = points.size() >= 2;
    for (int i = 1; i < points.size(); i++) {
      rises &= points.get(i - 1).rate < points.get(i).rate;
    }
    if (!rises) {
      throw new IllegalArgumentException(
          "a way to share needs measurements at two rates at least, by rising rates: " + points);
    }
  }

  /**
   * Adds a way to share; the first one counts.
   *
   * @param share of the multiprocessors that offline work had; 1 where they are not divided
   * @param points by rising rates, two at least
   * @return whether it counts
   */
  public boolean add(SharingWay way, double share, List<Point> points) {
    requireRising(points);
    return ways.computeIfAbsent(way, _ -> new TreeMap<>()).putIfAbsent(share, List.copyOf(points))
        == null;
  }

  /** Whether a way was measured. */
  public boolean has(SharingWay way) {
    return way == SharingWay.ONLINE_ONLY || ways.containsKey(way);
  }

  /** A request of the online workload, with a peak at an hour. */
  OnlineService online(double peakHour) {
    return new OnlineService(
        online.name(),
        online.deviceMillis(),
        online.hostMillis(),
        online.busyActivity(),
        online.occupancy(),
        online.traffic(),
        peakHour);
  }

  /** The offline workload: it computes all the time; that it has little to move is assumed. */
  static OfflineModel offline() {
    return new OfflineModel("measured", 1, 1, 1, 0, 1, 240_000_000);
  }

  /** Knows the figures. */
  SpeedPredictor predictor(SharingWay way) {
    return (beside, _, share) ->
        speed(way, 1e3 * beside.utilization() / online.deviceMillis(), share);
  }

  @Override
  public GpuType gpu() {
    return new GpuType(device, 1, 0, 1, 0, 0.5);
  }

  @Override
  public Effect alone(OnlineService service, double rate) {
    return new Effect(
        requestMillis(service, rate, aloneToQueue(rate)),
        0,
        share(extended(alone, rate, Point::utilization)),
        share(extended(alone, rate, Point::activity)),
        1);
  }

  @Override
  public Effect shared(
      SharingWay way,
      OnlineService service,
      double rate,
      OfflineModel offline,
      double share,
      double launches) {
    double slowdown = of(way, share, points -> held(points, rate, Point::slowdown));
    return new Effect(
        requestMillis(service, rate, aloneToQueue(rate) * (1 + launches * (slowdown - 1))),
        launches * speed(way, rate, share),
        share(of(way, share, points -> extended(points, rate, Point::utilization))),
        share(of(way, share, points -> extended(points, rate, Point::activity))),
        1);
  }

  private double speed(SharingWay way, double rate, double share) {
    double speed = of(way, share, points -> extended(points, rate, Point::speed));
    return Math.clamp(speed, LEAST_SPEED, 1);
  }

  /** The mean latency alone, over that of a queue whose requests all take what one does. */
  private double aloneToQueue(double rate) {
    return held(alone, rate, Point::slowdown);
  }

  /** The run at which the queue's mean latency is so many times that of requests as they are. */
  private static double requestMillis(OnlineService service, double rate, double slowdown) {
    double run = service.deviceMillis();
    double host = service.hostMillis();
    double mean = Math.max(run / 10, slowdown * queueMillis(run, host, rate) - host);
    double perMilli = rate / 1e3;
    double square = mean * perMilli * mean * perMilli;
    return (1 + mean * perMilli - Math.sqrt(1 + square)) / perMilli; // The mean of M/D/1, solved.
  }

  private double of(SharingWay way, double share, ToDoubleFunction<List<Point>> figure) {
    TreeMap<Double, List<Point>> shares =
        Objects.requireNonNull(ways.get(way), () -> way + " was not measured");
    Map.Entry<Double, List<Point>> below = shares.floorEntry(share);
    Map.Entry<Double, List<Point>> above = shares.ceilingEntry(share);
    if (below == null || above == null) {
      return figure.applyAsDouble(
          (below == null ? shares.firstEntry() : shares.lastEntry()).getValue());
    }
    double low = figure.applyAsDouble(below.getValue());
    double high = figure.applyAsDouble(above.getValue());
    double width = above.getKey() - below.getKey();
    return width == 0 ? low : low + (high - low) * (share - below.getKey()) / width;
  }

  private static double held(List<Point> points, double rate, ToDoubleFunction<Point> figure) {
    List<Point> beside = points.stream().filter(point -> point.rate > 0).toList();
    double bounded = Math.clamp(rate, beside.getFirst().rate, beside.getLast().rate);
    return beside.size() == 1
        ? figure.applyAsDouble(beside.getFirst())
        : extended(beside, bounded, figure);
  }

  /**
   * On the line through the two measurements that are next; those without a number do not count.
   */
  private static double extended(List<Point> points, double rate, ToDoubleFunction<Point> figure) {
    List<Point> known =
        points.stream().filter(point -> !Double.isNaN(figure.applyAsDouble(point))).toList();
    if (known.size() < 2) {
      return Double.NaN;
    }
    int right = 1;
    while (right < known.size() - 1 && known.get(right).rate < rate) {
      right++;
    }
    Point low = known.get(right - 1);
    Point high = known.get(right);
    double part = (rate - low.rate) / (high.rate - low.rate);
    double from = figure.applyAsDouble(low);
    return from + part * (figure.applyAsDouble(high) - from);
  }

  private static double share(double value) {
    return Double.isNaN(value) ? value : Math.clamp(value, 0.0, 1.0);
  }
}
