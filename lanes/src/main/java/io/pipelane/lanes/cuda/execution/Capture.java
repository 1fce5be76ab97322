package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.execution.tensor.InputShapes;
import java.time.Duration;
import java.util.List;

/**
 * The known facts of a captured form.
 *
 * @param segmentTimes how long each segment computes when nothing has to be waited for, in order;
 *     with the link's speed they give the least time that a pipeline can take
 * @param ephemeralBytes what a run takes of its lane
 * @param deviceBytes device memory that it holds beside that
 */
public record Capture(
    InputShapes shapes, List<Duration> segmentTimes, long ephemeralBytes, long deviceBytes) {
  public Capture {
    segmentTimes = List.copyOf(segmentTimes);
  }
}
