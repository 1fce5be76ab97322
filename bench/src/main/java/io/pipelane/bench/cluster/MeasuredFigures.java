package io.pipelane.bench.cluster;

import io.pipelane.bench.report.Results;
import io.pipelane.bench.report.SavedResults;
import io.pipelane.cluster.simulator.MeasuredSharing;
import io.pipelane.cluster.simulator.MeasuredSharing.Point;
import io.pipelane.cluster.simulator.SharingWay;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The figures that {@code bench sharing} has measured of one pair of models on one device, for the
 * simulator to go by.
 *
 * @param offlinePerSecond the best rate of offline work alone, in the first file; no number where
 *     that has none
 * @param results what was taken from the files, for people
 */
record MeasuredFigures(MeasuredSharing sharing, double offlinePerSecond, Results results) {
  private static final Pattern AT_A_RATE = Pattern.compile("([0-9.]+)/s, (.+)");
  private static final Pattern DIVIDED = Pattern.compile("(shares|gates-shares) ([0-9]+) %");
  private static final String WITHOUT_ONLINE = "offline alone, ";
  private static final String ALONE = "alone";
  private static final double PERCENT = 100;

  /**
   * Reads files.
   *
   * @param files of ways that several have the first counts; online work alone is that of the first
   * @throws IOException when one cannot be read, or the first says nothing of online work alone
   */
  static MeasuredFigures read(List<Path> files) throws IOException {
    Results results =
        new Results(
            ClusterColumns.MEASURED_TITLE, ClusterColumns.MEASURED, ClusterColumns.MEASURED_NOTES);
    SavedResults first = SavedResults.read(files.getFirst());
    MeasuredSharing sharing = alone(files.getFirst(), first, results);
    addWays(first, sharing, results);
    for (Path file : files.subList(1, files.size())) {
      addWays(SavedResults.read(file), sharing, results);
    }
    Map<String, Double> offlineAlone = offlineAlone(first);
    double perSecond = offlineAlone.isEmpty() ? Double.NaN : best(offlineAlone);
    return new MeasuredFigures(sharing, perSecond, results);
  }

  private static MeasuredSharing alone(Path file, SavedResults saved, Results results)
      throws IOException {
    List<Point> alone = new ArrayList<>(List.of(new Point(0, 1, 0, 0, 0)));
    alone.addAll(points(saved, ALONE, 1));
    if (alone.size() < 3) {
      throw new IOException(file + " does not have online work alone at two rates");
    }
    double rate = alone.get(1).rate();
    double idle =
        saved.cases().stream()
            .filter(name -> name.startsWith(caseName(rate, "")))
            .flatMap(name -> saved.value(name, "idle_share").stream().boxed())
            .findFirst()
            .orElseThrow(() -> new IOException(file + " has no idle share at the least rate"));
    double busy = 1 - idle;
    double device = 1e3 * busy / rate;
    double mean = saved.value(caseName(rate, ALONE), "mean_ms").orElse(Double.NaN);
    double host = mean - device * (1 + busy / (2 * (1 - busy)));
    if (!(host >= 0)) {
      throw new IOException(
          "%s has a mean of %s ms where runs of %s ms wait for each other"
              .formatted(file, mean, device));
    }
    results.add("a request", ClusterColumns.DEVICE_MILLIS, device);
    results.add("a request", ClusterColumns.HOST_MILLIS, host);
    alone.forEach(point -> tell(ALONE, point, results));
    alone.replaceAll(point -> overQueue(saved, point, device, host));
    return new MeasuredSharing("measured", device, host, alone);
  }

  /** With its mean latency over that of a queue whose requests all take the same. */
  private static Point overQueue(SavedResults saved, Point point, double device, double host) {
    double queue = MeasuredSharing.queueMillis(device, host, point.rate());
    double mean = saved.value(caseName(point.rate(), ALONE), "mean_ms").orElse(queue);
    return new Point(
        point.rate(), mean / queue, point.speed(), point.utilization(), point.activity());
  }

  private static void addWays(SavedResults saved, MeasuredSharing sharing, Results results) {
    Map<String, Double> offlineAlone = offlineAlone(saved);
    double best = best(offlineAlone);
    offlineAlone.forEach(
        (name, rate) ->
            way(name)
                .ifPresent(
                    way -> {
                      List<Point> points = new ArrayList<>();
                      points.add(new Point(0, Double.NaN, rate / best, Double.NaN, Double.NaN));
                      points.addAll(points(saved, name, best));
                      boolean counts = sharing.add(way, share(name), points);
                      if (counts) {
                        points.forEach(point -> tell(name, point, results));
                      }
                    }));
  }

  /** Runs a second by way. */
  private static Map<String, Double> offlineAlone(SavedResults saved) {
    Map<String, Double> rates = new LinkedHashMap<>();
    for (String name : saved.cases()) {
      if (name.startsWith(WITHOUT_ONLINE)) {
        saved
            .value(name, "offline_per_s")
            .ifPresent(rate -> rates.put(name.substring(WITHOUT_ONLINE.length()), rate));
      }
    }
    return rates;
  }

  private static double best(Map<String, Double> rates) {
    return rates.values().stream().mapToDouble(rate -> rate).max().orElse(1);
  }

  private static List<Point> points(SavedResults saved, String name, double bestOffline) {
    List<Point> points = new ArrayList<>();
    for (String each : saved.cases()) {
      Matcher matcher = AT_A_RATE.matcher(each);
      if (matcher.matches() && matcher.group(2).equals(name)) {
        points.add(
            new Point(
                Double.parseDouble(matcher.group(1)),
                saved.value(each, "mean_to_alone").orElse(1),
                saved.value(each, "offline_per_s").orElse(0) / bestOffline,
                saved.value(each, "utilization_percent").orElse(Double.NaN) / PERCENT,
                saved.value(each, "activity_percent").orElse(Double.NaN) / PERCENT));
      }
    }
    points.sort(Comparator.comparingDouble(Point::rate));
    return points;
  }

  private static String caseName(double rate, String name) {
    return (rate == Math.rint(rate) ? Long.toString(Math.round(rate)) : Double.toString(rate))
        + "/s, "
        + name;
  }

  /** As {@code bench sharing} names it; empty for what the simulator does not have. */
  private static Optional<SharingWay> way(String name) {
    Matcher divided = DIVIDED.matcher(name);
    if (divided.matches()) {
      boolean hasGates = divided.group(1).startsWith("gates");
      return Optional.of(hasGates ? SharingWay.GATED_SPACE : SharingWay.SPACE);
    }
    return switch (name) {
      case "plain" -> Optional.of(SharingWay.TIME_SLICES);
      case "priorities" -> Optional.of(SharingWay.PRIORITY_SLICES);
      case "gates" -> Optional.of(SharingWay.GATES);
      default -> Optional.empty();
    };
  }

  private static double share(String name) {
    Matcher divided = DIVIDED.matcher(name);
    return divided.matches() ? Integer.parseInt(divided.group(2)) / PERCENT : 1;
  }

  private static void tell(String name, Point point, Results results) {
    String row = "%s, %.0f/s".formatted(name, point.rate());
    boolean hasOffline = !name.equals(ALONE);
    if (hasOffline) {
      results.add(row, ClusterColumns.MEASURED_SPEED, point.speed());
    }
    if (hasOffline && point.rate() > 0) {
      results.add(row, ClusterColumns.MEASURED_SLOWDOWN, point.slowdown());
    }
    if (!Double.isNaN(point.activity())) {
      results.add(row, ClusterColumns.UTILIZATION, PERCENT * point.utilization());
      results.add(row, ClusterColumns.ACTIVITY, PERCENT * point.activity());
    }
  }
}
