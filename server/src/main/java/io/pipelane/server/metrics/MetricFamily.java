package io.pipelane.server.metrics;

import io.pipelane.server.statistics.DurationBuckets;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot.UnknownDataPointSnapshot;

/** One metric while its values are gathered. */
sealed interface MetricFamily {
  MetricSnapshot snapshot();

  /** A count that only grows; its name is written with {@code _total} behind it. */
  final class Counter implements MetricFamily {
    private final CounterSnapshot.Builder snapshot;

    Counter(String name, String help) {
      snapshot = CounterSnapshot.builder().name(name).help(help);
    }

    Counter add(long value, String... labels) {
      return add((double) value, labels);
    }

    Counter add(double value, String... labels) {
      snapshot.dataPoint(
          CounterDataPointSnapshot.builder().value(value).labels(Labels.of(labels)).build());
      return this;
    }

    @Override
    public MetricSnapshot snapshot() {
      return snapshot.build();
    }
  }

  /** A count under a name that others have given it, without {@code _total}. */
  final class Named implements MetricFamily {
    private final UnknownSnapshot.Builder snapshot;

    Named(String name, String help) {
      snapshot = UnknownSnapshot.builder().name(name).help(help);
    }

    Named add(long value, String... labels) {
      return add((double) value, labels);
    }

    Named add(double value, String... labels) {
      snapshot.dataPoint(
          UnknownDataPointSnapshot.builder().value(value).labels(Labels.of(labels)).build());
      return this;
    }

    @Override
    public MetricSnapshot snapshot() {
      return snapshot.build();
    }
  }

  /** A value that goes up and down. */
  final class Gauge implements MetricFamily {
    private final GaugeSnapshot.Builder snapshot;

    Gauge(String name, String help) {
      snapshot = GaugeSnapshot.builder().name(name).help(help);
    }

    Gauge add(long value, String... labels) {
      return add((double) value, labels);
    }

    Gauge add(double value, String... labels) {
      snapshot.dataPoint(
          GaugeDataPointSnapshot.builder().value(value).labels(Labels.of(labels)).build());
      return this;
    }

    @Override
    public MetricSnapshot snapshot() {
      return snapshot.build();
    }
  }

  /** Durations by size. */
  final class Histogram implements MetricFamily {
    private final HistogramSnapshot.Builder snapshot;

    Histogram(String name, String help) {
      snapshot = HistogramSnapshot.builder().name(name).help(help);
    }

    Histogram add(DurationBuckets durations, String... labels) {
      ClassicHistogramBuckets buckets =
          ClassicHistogramBuckets.of(DurationBuckets.limitsSeconds(), durations.counts());
      snapshot.dataPoint(
          HistogramDataPointSnapshot.builder()
              .classicHistogramBuckets(buckets)
              .sum(durations.sumSeconds())
              .labels(Labels.of(labels))
              .build());
      return this;
    }

    @Override
    public MetricSnapshot snapshot() {
      return snapshot.build();
    }
  }
}
