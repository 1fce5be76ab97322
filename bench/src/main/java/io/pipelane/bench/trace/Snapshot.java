package io.pipelane.bench.trace;

import io.pipelane.bench.plot.SpanPlot;
import io.pipelane.switcher.jobs.JobHistory;
import io.pipelane.switcher.jobs.JobRecord;
import io.pipelane.switcher.jobs.LaneInterval;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A drawing of a slice of a history (Salus' figure 8a): the job that was interrupted most often,
 * and the five that ran next.
 */
final class Snapshot {
  private static final int OTHERS = 5;
  private static final double NANOS_PER_MINUTE = 60e9;

  private Snapshot() {}

  static void write(Path file, JobHistory history) throws IOException {
    Map<String, List<LaneInterval>> intervals =
        history.intervals().stream().collect(Collectors.groupingBy(LaneInterval::job));
    Map<String, JobRecord> records =
        history.records().stream()
            .collect(Collectors.toMap(record -> record.job().id(), Function.identity()));
    List<LaneInterval> background =
        intervals.values().stream().max(Comparator.comparingInt(List::size)).orElse(List.of());
    if (background.isEmpty()) {
      return;
    }
    long begin = background.getFirst().fromNanos();
    Stream<String> others =
        history.intervals().stream()
            .filter(interval -> interval.fromNanos() > begin)
            .map(LaneInterval::job)
            .filter(job -> !job.equals(background.getFirst().job()))
            .distinct()
            .limit(OTHERS);
    List<JobRecord> shown =
        Stream.concat(Stream.of(background.getFirst().job()), others)
            .map(records::get)
            .sorted(Comparator.comparingLong(record -> record.job().arrivalNanos()))
            .toList();
    long end =
        shown.stream()
            .filter(record -> !record.job().id().equals(background.getFirst().job()))
            .mapToLong(JobRecord::endedNanos)
            .max()
            .orElse(begin);
    double most = (end - begin) * 1.05 / NANOS_PER_MINUTE;
    SpanPlot plot = new SpanPlot("Six jobs under srtf, by minutes", most);
    for (JobRecord record : shown) {
      String id = record.job().id();
      String row = "#" + id.substring(0, id.indexOf('-'));
      plot.present(
          row, minutes(record.job().arrivalNanos(), begin), minutes(record.endedNanos(), begin));
      for (LaneInterval interval : intervals.getOrDefault(id, List.of())) {
        plot.ran(row, minutes(interval.fromNanos(), begin), minutes(interval.toNanos(), begin));
      }
    }
    plot.write(file);
  }

  private static double minutes(long nanos, long begin) {
    return (nanos - begin) / NANOS_PER_MINUTE;
  }
}
