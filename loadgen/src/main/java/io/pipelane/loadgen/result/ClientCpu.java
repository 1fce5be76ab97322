package io.pipelane.loadgen.result;

import java.time.Duration;

/**
 * CPU time that generating the load took.
 *
 * @param process of the whole Java process, compiler and collector threads included
 * @param loadThread of the one thread that sends and receives; the figure to use when other work
 *     shares the process
 */
public record ClientCpu(Duration process, Duration loadThread) {
  /** What was used since an earlier reading. */
  public ClientCpu minus(ClientCpu earlier) {
    return new ClientCpu(process.minus(earlier.process), loadThread.minus(earlier.loadThread));
  }
}
