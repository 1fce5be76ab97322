package io.pipelane.loadgen.result;

import java.time.Duration;

/**
 * Time that generating the load took.
 *
 * @param process CPU time of the whole Java process, compiler and collector threads included
 * @param loadThread CPU time of the one thread that sends and receives; the figure to use when
 *     other work shares the process
 * @param collecting time that garbage collections lasted
 */
public record ClientCpu(Duration process, Duration loadThread, Duration collecting) {
  /** None. */
  public static final ClientCpu NONE = new ClientCpu(Duration.ZERO, Duration.ZERO, Duration.ZERO);

  /** What was used since an earlier reading. */
  public ClientCpu minus(ClientCpu earlier) {
    return new ClientCpu(
        process.minus(earlier.process),
        loadThread.minus(earlier.loadThread),
        collecting.minus(earlier.collecting));
  }
}
