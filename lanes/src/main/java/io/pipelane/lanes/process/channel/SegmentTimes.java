package io.pipelane.lanes.process.channel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The time that each segment of a run has computed, in nanoseconds.
 *
 * @param nanos by segment; empty where it was not measured
 */
public record SegmentTimes(List<Long> nanos) {
  /** What was not measured. */
  public static final SegmentTimes NONE = new SegmentTimes(List.of());

  /** Runs of more segments are not told of: a message has its outputs to tell, too. */
  private static final int MAXIMUM = 1 << 10;

  public SegmentTimes {
    nanos = List.copyOf(nanos);
  }

  /** Times by segment; none where there are too many for a message. */
  public static SegmentTimes of(long[] nanos) {
    return nanos.length > MAXIMUM ? NONE : new SegmentTimes(Arrays.stream(nanos).boxed().toList());
  }

  /** Whether anything was measured. */
  public boolean areKnown() {
    return !nanos.isEmpty();
  }

  /**
   * The times, checked.
   *
   * @param segments how many the model has
   * @param mostNanos what they can be together
   * @throws ProtocolException when they cannot be those of such a run
   */
  public long[] checked(int segments, long mostNanos) {
    if (nanos.size() != segments) {
      throw new ProtocolException(
          "it has the times of %d segments of %d".formatted(nanos.size(), segments));
    }
    long left = mostNanos;
    for (long each : nanos) {
      if (each < 0 || each > left) {
        throw new ProtocolException(
            "its segments computed for %s ns, longer than %d ns".formatted(nanos, mostNanos));
      }
      left -= each;
    }
    return nanos.stream().mapToLong(Long::longValue).toArray();
  }

  void write(MessageWriter message) {
    message.number(nanos.size());
    nanos.forEach(message::number);
  }

  static SegmentTimes read(MessageReader message) {
    int count = message.count(MAXIMUM);
    List<Long> nanos = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      nanos.add(message.size());
    }
    return new SegmentTimes(nanos);
  }
}
