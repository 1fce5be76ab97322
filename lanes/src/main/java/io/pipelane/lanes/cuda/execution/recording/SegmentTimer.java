package io.pipelane.lanes.cuda.execution.recording;

import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.ExecutableGraph;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A measurement of the time that captured segments compute, one after another with nothing to wait
 * for.
 */
public final class SegmentTimer {
  private static final int REPETITIONS = 3;

  private SegmentTimer() {}

  /** The median time of each segment; the memory that they use is there, whatever is in it. */
  public static List<Duration> measure(CudaStream stream, List<ExecutableGraph> segments) {
    long[][] nanos = new long[segments.size()][REPETITIONS];
    List<CudaMark> marks = new ArrayList<>();
    try {
      for (int i = 0; i <= segments.size(); i++) {
        marks.add(CudaMark.timed(stream.context()));
      }
      for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        launch(stream, segments, marks);
        for (int i = 0; i < segments.size(); i++) {
          nanos[i][repetition] = Math.round(marks.get(i + 1).millisSince(marks.get(i)) * 1e6);
        }
      }
    } finally {
      marks.forEach(CudaMark::close);
    }
    return Arrays.stream(nanos).map(SegmentTimer::median).map(Duration::ofNanos).toList();
  }

  private static void launch(
      CudaStream stream, List<ExecutableGraph> segments, List<CudaMark> marks) {
    stream.record(marks.getFirst());
    for (int i = 0; i < segments.size(); i++) {
      stream.launch(segments.get(i));
      stream.record(marks.get(i + 1));
    }
    stream.synchronize();
  }

  private static long median(long[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }
}
