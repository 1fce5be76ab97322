package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The points in a run's work at which its segments begin, with their times. Belongs to its lane's
 * thread.
 */
final class SegmentMarks implements AutoCloseable {
  private final CudaStream stream;
  private final List<CudaMark> begins = new ArrayList<>();

  SegmentMarks(CudaStream stream) {
    this.stream = stream;
  }

  /** Marks the begin of a segment behind what is enqueued so far. */
  void begin(int segment) {
    while (begins.size() <= segment) {
      begins.add(CudaMark.timed(stream.context()));
    }
    stream.record(begins.get(segment));
  }

  /**
   * The device time of each segment of a run that marked them all and is over.
   *
   * @param end behind the last segment
   */
  long[] nanos(int segments, CudaMark end) {
    long[] nanos = new long[segments];
    for (int i = 0; i < segments; i++) {
      CudaMark next = i + 1 < segments ? begins.get(i + 1) : end;
      nanos[i] = Math.round(next.millisSince(begins.get(i)) * 1e6);
    }
    return nanos;
  }

  @Override
  public void close() {
    begins.forEach(CudaMark::close);
  }
}
