package io.pipelane.lanes.cuda;

import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import io.pipelane.lanes.descriptors.UnixSocket;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Hands a device's pages to worker processes that ask for them, as file descriptors. */
final class PageHandover implements AutoCloseable {
  /*
   * Descriptors are open for as long as one message takes, so that a device of ten thousand pages
   * needs no more of them than any other. Whoever guesses the name has to be of the same user, who
   * might as well attach a debugger.
   */
  private static final System.Logger LOG = System.getLogger(PageHandover.class.getName());

  private final VirtualMemory memory;
  private final CudaPagePool pages;
  private final String name = "pipelane-" + UUID.randomUUID();
  private final UnixSocket socket = UnixSocket.listen(name);
  private final Thread thread;
  private volatile boolean closed;

  PageHandover(VirtualMemory memory, CudaPagePool pages) {
    this.memory = memory;
    this.pages = pages;
    this.thread = Thread.ofPlatform().daemon().name("pipelane-page-handover").start(this::work);
  }

  /** What to ask at. */
  String name() {
    return name;
  }

  private void work() {
    while (!closed) {
      try (UnixSocket worker = socket.accept()) {
        if (worker.isOfSameUser()) {
          handOver(worker);
        }
      } catch (RuntimeException e) {
        if (!closed) {
          LOG.log(Level.WARNING, "a worker was not given the device's pages", e);
        }
      }
    }
  }

  private void handOver(UnixSocket worker) {
    for (int first = 0; first < pages.count(); first += UnixSocket.MOST_DESCRIPTORS) {
      int count = Math.min(UnixSocket.MOST_DESCRIPTORS, pages.count() - first);
      List<Integer> descriptors = new ArrayList<>(count);
      try {
        for (int i = 0; i < count; i++) {
          descriptors.add(memory.export(pages.handle(first + i)));
        }
        worker.send(descriptors.stream().mapToInt(Integer::intValue).toArray());
      } finally {
        descriptors.forEach(UnixSocket::close);
      }
    }
  }

  /** Asks for all pages; answers their handles in this process. */
  static long[] take(VirtualMemory memory, String name, int pages) {
    long[] handles = new long[pages];
    int taken = 0;
    try (UnixSocket server = UnixSocket.connect(name)) {
      while (taken < pages) {
        int[] descriptors = server.receive();
        if (descriptors == null || descriptors.length > pages - taken) {
          throw new IllegalStateException(
              "the server has handed over %d of %d pages".formatted(taken, pages));
        }
        for (int descriptor : descriptors) {
          handles[taken++] = memory.importFrom(descriptor);
          UnixSocket.close(descriptor);
        }
      }
    }
    return handles;
  }

  @Override
  public void close() {
    closed = true;
    socket.shutDown();
    ThreadEnd.await(thread);
    socket.close();
  }
}
