package io.pipelane.bench.sharing;

import io.pipelane.config.value.ProcessorList;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.lanes.cpu.ThreadPriority;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Threads that take all processor time they get, as a job does that prepares its own inputs. */
final class HostLoad implements AutoCloseable {
  private final List<Thread> threads;
  private volatile boolean closed;

  /**
   * Begins.
   *
   * @param nice how much less urgent they are than others
   * @param processors that they keep to; empty for all
   */
  HostLoad(int count, int nice, Optional<ProcessorList> processors) {
    threads =
        IntStream.range(0, count)
            .mapToObj(
                i ->
                    Thread.ofPlatform()
                        .name("host-load-" + i)
                        .daemon()
                        .start(() -> work(nice, processors)))
            .toList();
  }

  private void work(int nice, Optional<ProcessorList> processors) {
    if (!ThreadPriority.yieldToOthers(nice)) {
      throw new IllegalStateException("the system does not make a thread less urgent");
    }
    if (!processors.map(ThreadPriority::keepTo).orElse(true)) {
      throw new IllegalStateException("the process may use none of " + processors.get());
    }
    while (!closed) {
      Thread.onSpinWait();
    }
  }

  @Override
  public void close() {
    closed = true;
    threads.forEach(ThreadEnd::await);
  }
}
