package io.pipelane.lanes.process.settings;

import java.time.Duration;

/**
 * The limits on the time that a worker process may take.
 *
 * @param hang from one gate of a run to the next, before the worker is ended
 * @param start to start, and to build a session
 * @param end to end when it is told to, before it is killed, and when it is killed, before those
 *     that wait for what it does are told that it is still there
 * @param grace how long it is let alone once another has taken over from it: its runs may come to
 *     their end, and the other's first ones have the processor before its process ends
 */
public record WorkerTimes(Duration hang, Duration start, Duration end, Duration grace) {
  /** A killed process that the kernel keeps for longer, in a driver say, is left to it. */
  public static final Duration USUAL_END = Duration.ofSeconds(10);

  /** The first runs of who takes over are over, and most of those that were under way. */
  public static final Duration USUAL_GRACE = Duration.ofMillis(250);

  /** The usual times but for the two that are configured. */
  public static WorkerTimes of(Duration hang, Duration start) {
    return new WorkerTimes(hang, start, USUAL_END, USUAL_GRACE);
  }
}
