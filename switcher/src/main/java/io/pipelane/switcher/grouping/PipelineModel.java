package io.pipelane.switcher.grouping;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping.Group;
import java.util.ArrayList;
import java.util.List;

/**
 * A model of the time of a run whose weights are on their way (PipeSwitch §4.2). Copies follow each
 * other on the link, segments on the device, and a segment waits for the groups that hold its
 * weights. No device is involved.
 *
 * @param segments in execution order
 * @param leadNanos from the run's begin until the link begins with the first copy
 * @param waitNanos what computation pays for each group it has to wait for
 */
public record PipelineModel(
    LinkModel link, List<Segment> segments, long leadNanos, long waitNanos) {

  public PipelineModel {
    segments = List.copyOf(segments);
    if (leadNanos < 0 || waitNanos < 0) {
      throw new IllegalArgumentException(
          "no time: lead %d ns, wait %d ns".formatted(leadNanos, waitNanos));
    }
  }

  /**
   * A stretch of layers between two gates.
   *
   * @param bytes of weights that it is the first to read
   * @param executionNanos its time on the device, its gate included
   */
  public record Segment(long bytes, long executionNanos) {
    public Segment {
      if (bytes < 0 || executionNanos < 0) {
        throw new IllegalArgumentException(
            "no segment: %d bytes, %d ns".formatted(bytes, executionNanos));
      }
    }
  }

  /**
   * The predicted time of a run.
   *
   * @param totalNanos from its begin until its last segment has run
   * @param computingNanos of that, while it does not wait
   */
  public record Prediction(long totalNanos, long computingNanos) {
    public long stallNanos() {
      return totalNanos - computingNanos;
    }
  }

  /**
   * The model of a plan.
   *
   * @param executionNanos of each of the plan's segments
   */
  public static PipelineModel of(
      Plan plan, List<Long> executionNanos, LinkModel link, long leadNanos, long waitNanos) {
    if (executionNanos.size() != plan.segments().size()) {
      throw new IllegalArgumentException(
          "%d times for %d segments".formatted(executionNanos.size(), plan.segments().size()));
    }
    List<Segment> segments = new ArrayList<>();
    for (int i = 0; i < executionNanos.size(); i++) {
      segments.add(new Segment(plan.segments().get(i).byteSize(), executionNanos.get(i)));
    }
    return new PipelineModel(link, segments, leadNanos, waitNanos);
  }

  /** All weights. */
  public long weightBytes() {
    return segments.stream().mapToLong(Segment::bytes).sum();
  }

  /** A run with every weight on the device. */
  public long warmNanos() {
    return segments.stream().mapToLong(Segment::executionNanos).sum();
  }

  /**
   * A run for which the copies of some groups begin with it.
   *
   * @param missing in ascending order, without gaps, up to the last byte; all in front of them is
   *     on the device
   */
  public Prediction predict(List<Group> missing) {
    return predict(missing, List.of());
  }

  /**
   * Weights that a run cannot read before some time.
   *
   * @param offset from this byte on
   * @param nanos since the run's begin
   */
  public record Ready(long offset, long nanos) {}

  /**
   * A run for which the copies of some groups begin with it, and what is there can be read later.
   *
   * @param missing see {@link #predict(List)}
   * @param ready in ascending order
   */
  public Prediction predict(List<Group> missing, List<Ready> ready) {
    long computed = 0;
    long arrived = leadNanos;
    long end = 0;
    int next = 0;
    int mapped = 0;
    for (Segment segment : segments) {
      end += segment.bytes;
      for (; mapped < ready.size() && ready.get(mapped).offset < end; mapped++) {
        computed = Math.max(computed, ready.get(mapped).nanos);
      }
      for (; next < missing.size() && missing.get(next).offset() < end; next++) {
        arrived += link.copyNanos(missing.get(next).byteSize());
        computed = Math.max(computed, arrived) + waitNanos;
      }
      computed += segment.executionNanos;
    }
    return new Prediction(computed, warmNanos());
  }
}
