package io.pipelane.lanes.cuda.execution.recording;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CapturedGraph;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.runtime.GateListener;
import java.util.ArrayList;
import java.util.List;

/**
 * A listener that captures a run in one graph per segment: each gate ends the graph before it and
 * begins the next. Belongs to the run's thread.
 */
public final class SegmentRecorder implements GateListener, AutoCloseable {
  private final CudaStream stream;
  private final int expected;
  private final List<RecordedSegment> segments = new ArrayList<>();
  private boolean capturing;

  /**
   * Nothing is captured until {@link #begin}.
   *
   * @param expected segments that the model has
   */
  public SegmentRecorder(CudaStream stream, int expected) {
    this.stream = stream;
    this.expected = expected;
  }

  public void begin() {
    stream.beginCapture();
    capturing = true;
  }

  /**
   * Ends a segment and begins the next.
   *
   * @throws StatusException when the gate is not the one that comes next, or the segment cannot be
   *     replayed
   */
  @Override
  public void reached(int gate) {
    if (gate != segments.size() + 1) {
      throw refusal("gate %d comes after gate %d".formatted(gate, segments.size()));
    }
    endSegment();
    begin();
  }

  /** Ends the last segment. */
  public List<RecordedSegment> end() {
    endSegment();
    if (segments.size() != expected) {
      throw refusal(
          "the run has passed %d gates of %d".formatted(segments.size() - 1, expected - 1));
    }
    return segments;
  }

  private void endSegment() {
    capturing = false;
    CapturedGraph graph = captured();
    try {
      segments.add(RecordedSegment.of(graph));
    } catch (RuntimeException e) {
      graph.close();
      throw e;
    }
  }

  private CapturedGraph captured() {
    try {
      return stream.endCapture();
    } catch (CudaException e) {
      throw refusal(
          "segment %d does something that CUDA cannot capture, such as waiting for a result on the host (%s)"
              .formatted(segments.size(), e.errorName()));
    }
  }

  private static StatusException refusal(String reason) {
    return new StatusException(Status.UNIMPLEMENTED, reason);
  }

  /** Ends a capture that is still under way, and gives the graphs back. */
  @Override
  public void close() {
    if (capturing) {
      capturing = false;
      try {
        stream.endCapture().close();
      } catch (CudaException e) {
        // What spoilt the capture has been told already; the stream is itself again.
        capturing = false;
      }
    }
    segments.forEach(segment -> segment.graph().close());
    segments.clear();
  }
}
