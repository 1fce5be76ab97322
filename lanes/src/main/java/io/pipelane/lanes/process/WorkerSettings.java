package io.pipelane.lanes.process;

import io.pipelane.config.ByteSize;
import io.pipelane.config.WorkersConfig.SwitchOn;
import io.pipelane.lanes.cpu.ProcessPriority;
import java.nio.file.Path;
import java.time.Duration;

/**
 * How worker processes are run.
 *
 * @param program the worker's main class
 * @param library ONNX Runtime's
 * @param threadsPerRun threads of one run, its lane's own included
 * @param lanes runs under way at a time, those that are stopped included
 * @param switchOn when another worker takes over
 * @param standbys workers that are ready to take over
 * @param offlineApart whether offline work has a worker of its own
 * @param offlinePriority what the processor gives that worker
 * @param buildsAtOnce standbys that build and warm up at the same time, one session after another
 *     each; at least 1
 * @param hangTimeout how long a run may take from one gate to the next before its worker is ended
 * @param startTimeout how long a worker may take to start, and to build a session
 * @param endTimeout how long a worker may take to end that is told to, before it is killed, and one
 *     that is killed, before those that wait for what it does are told that it is still there
 * @param grace how long a worker that another has taken over from is let alone: its runs may come
 *     to their end, and the other's first ones have the processor before its process ends
 * @param heap each worker's Java heap
 * @param launcher starts the program
 */
public record WorkerSettings(
    Class<?> program,
    Path library,
    int threadsPerRun,
    int lanes,
    SwitchOn switchOn,
    int standbys,
    boolean offlineApart,
    ProcessPriority offlinePriority,
    int buildsAtOnce,
    Duration hangTimeout,
    Duration startTimeout,
    Duration endTimeout,
    Duration grace,
    ByteSize heap,
    Launcher launcher) {
  /** A killed process that the kernel keeps for longer, in a driver say, is left to it. */
  public static final Duration USUAL_END = Duration.ofSeconds(10);

  /** The first runs of who takes over are over, and most of those that were under way. */
  public static final Duration USUAL_GRACE = Duration.ofMillis(250);

  /**
   * Whether no worker is to see what another one's runs have in memory, as each belongs to one
   * owner.
   */
  public boolean isMemoryApart() {
    return switchOn != SwitchOn.FAULT;
  }

  /** Workers that keep each session. */
  int workers() {
    return (offlineApart ? 2 : 1) + standbys;
  }
}
