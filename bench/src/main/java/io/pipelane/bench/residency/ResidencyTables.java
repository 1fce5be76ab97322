package io.pipelane.bench.residency;

import io.pipelane.bench.residency.Findings.DensityRow;
import io.pipelane.bench.residency.Findings.PageSize;
import io.pipelane.bench.residency.Findings.PolicyRow;
import io.pipelane.bench.residency.Findings.PrefixRow;
import io.pipelane.bench.residency.Findings.PrefixStall;
import io.pipelane.bench.residency.Findings.Scene;
import io.pipelane.config.value.ByteSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Findings as tables of text. */
final class ResidencyTables {
  private ResidencyTables() {}

  static String title(Scene scene) {
    return String.format(
        Locale.ROOT,
        "%s, %s, %s, %.2f GB of device memory",
        scene.traffic().label(),
        scene.mix(),
        scene.asMeasured() ? "as measured" : "the pipeline alone",
        scene.memoryGigabytes());
  }

  static List<List<String>> policies(Scene scene) {
    List<List<String>> table = new ArrayList<>();
    table.add(
        List.of(
            "",
            "mean stall, ms",
            "p50",
            "p99",
            "p99.9",
            "without stall",
            "GB moved",
            "of them ahead",
            "latency p50, ms",
            "p99"));
    for (PolicyRow row : scene.rows()) {
      Outcome outcome = row.outcome();
      table.add(
          List.of(
              row.label(),
              millis(outcome.meanStall()),
              millis(outcome.medianStall()),
              millis(outcome.p99Stall()),
              millis(outcome.p999Stall()),
              percent(outcome.shareWithoutStall()),
              number(outcome.gigabytes()),
              number(outcome.aheadGigabytes()),
              millis(outcome.medianLatency()),
              millis(outcome.p99Latency())));
    }
    return table;
  }

  static List<List<String>> ratios(List<Scene> scenes) {
    List<List<String>> table = new ArrayList<>();
    table.add(
        List.of(
            "mean stall, ms",
            "expected-stall",
            "best of lru, lfu, greedy-dual-size",
            "ratio (≤ 0.33)",
            "prefixes planned with the true rates"));
    for (Scene scene : scenes) {
      double ours = scene.rows().getFirst().outcome().meanStall();
      table.add(
          List.of(
              title(scene),
              millis(ours),
              millis(ours / scene.ratio()),
              millis(scene.ratio()),
              millis(scene.bestPossible())));
    }
    return table;
  }

  static List<List<String>> pageSizes(List<PageSize> rows) {
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("Zipf 0.9, the pipeline alone", "page", "mean stall, ms", "ratio (≤ 0.33)"));
    for (PageSize row : rows) {
      table.add(
          List.of(
              row.mix(),
              new ByteSize(row.pageBytes()).toString(),
              millis(row.meanStall()),
              millis(row.ratio())));
    }
    return table;
  }

  static List<List<String>> prefixes(List<PrefixRow> rows) {
    List<List<String>> table = new ArrayList<>();
    List<String> head = new ArrayList<>(List.of("stall, ms: predicted (measured, if it was)"));
    for (PrefixStall stall : rows.getFirst().stalls()) {
      head.add(number(stall.percent()) + " %");
    }
    head.add("no stall from");
    table.add(head);
    for (PrefixRow row : rows) {
      List<String> line = new ArrayList<>(List.of(row.structure()));
      for (PrefixStall stall : row.stalls()) {
        String predicted = millis(stall.predicted());
        Double measured = stall.measured();
        line.add(measured == null ? predicted : predicted + " (" + millis(measured) + ")");
      }
      line.add(percent(row.shareWithoutStall()));
      table.add(line);
    }
    return table;
  }

  static List<List<String>> densities(List<DensityRow> rows) {
    List<List<String>> table = new ArrayList<>();
    table.add(
        List.of(
            "ResNet-152, 200 requests/s, Zipf 0.9",
            "fit whole",
            "served",
            "times (≥ 10)",
            "p99 stall, ms",
            "mean stall, ms",
            "latency p99, ms",
            "GB/s moved"));
    for (DensityRow row : rows) {
      Density density = row.density();
      double seconds = density.at().requests() / Density.PER_SECOND;
      table.add(
          List.of(
              density.memory()
                  + (row.asMeasured() ? ", as measured" : ", the pipeline alone")
                  + (row.stallTargetMicros() == 0 ? "" : ", stall target 0.9 ms"),
              Long.toString(density.wholeModels()),
              Integer.toString(density.served()),
              number(density.factor()),
              millis(density.at().p99Stall()),
              millis(density.at().meanStall()),
              millis(density.at().p99Latency()),
              number(density.at().gigabytes() / seconds)));
    }
    return table;
  }

  private static String millis(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.0f %%", 100 * share);
  }
}
