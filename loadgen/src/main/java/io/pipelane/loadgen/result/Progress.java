package io.pipelane.loadgen.result;

import java.time.Duration;

/**
 * The progress of a test.
 *
 * @param elapsed since the first request was meant to leave
 * @param warm whether the measured window has begun
 * @param answered good answers so far, warm-up included
 * @param errors so far, warm-up included
 * @param inFlight requests sent and not answered
 */
public record Progress(Duration elapsed, boolean warm, long answered, long errors, int inFlight) {
  /** Before anything was sent. */
  public static final Progress NONE = new Progress(Duration.ZERO, false, 0, 0, 0);
}
