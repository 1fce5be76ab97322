package io.pipelane.lanes.cuda;

import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import io.pipelane.lanes.descriptors.UnixSocket;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;

/**
 * The server that hands device memory to worker processes as file descriptors. Pages of weights are
 * handed over when the workers start, all of them, and pages of states as their runs need them.
 */
public final class PageHandover implements AutoCloseable {
  /*
   * Descriptors are open for as long as one message takes, so that a device of ten thousand pages
   * needs no more of them than any other. A connection is for one question. The question is sent at
   * once, and waited for a second at most, so a worker that hangs keeps no other from its answer
   * for longer. Whoever guesses the name has to be of the same user, who might as well attach a
   * debugger.
   */
  private static final System.Logger LOG = System.getLogger(PageHandover.class.getName());

  private static final Duration LONGEST_QUESTION = Duration.ofSeconds(1);

  /** What has kept a worker from being heard may keep the next from it at once. */
  private static final Duration PAUSE = Duration.ofMillis(100);

  private static final int WEIGHTS = 0;
  private static final int STATES = 1;

  private final VirtualMemory memory;
  private final CudaPagePool pages;
  private final CudaStates states;
  private final String name = "pipelane-" + UUID.randomUUID();
  private final UnixSocket socket = UnixSocket.listen(name);
  private final Thread thread;
  private volatile boolean closed;

  public PageHandover(VirtualMemory memory, CudaPagePool pages, CudaStates states) {
    this.memory = memory;
    this.pages = pages;
    this.states = states;
    this.thread = Thread.ofPlatform().daemon().name("pipelane-page-handover").start(this::work);
  }

  /** What to ask at. */
  public String name() {
    return name;
  }

  private void work() {
    boolean accepted = true;
    while (!closed) {
      try (UnixSocket worker = socket.accept()) {
        accepted = true;
        serve(worker);
      } catch (RuntimeException e) { // The process has too many files open, say, for a while.
        if (closed) {
          return;
        }
        if (accepted) {
          LOG.log(Level.WARNING, "workers cannot ask for the device's pages for now", e);
        }
        accepted = false;
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    }
  }

  private void serve(UnixSocket worker) {
    try {
      if (worker.isOfSameUser()) {
        answer(worker);
      }
    } catch (RuntimeException e) {
      if (!closed) {
        LOG.log(Level.WARNING, "a worker was not given the device's pages", e);
      }
    }
  }

  private void answer(UnixSocket worker) {
    worker.limitWaits(LONGEST_QUESTION);
    int[] asked = worker.receiveNumbers();
    if (asked.length != 3 || asked[2] < 1 || asked[2] > UnixSocket.MOST_DESCRIPTORS) {
      throw new IllegalArgumentException("a worker asks for " + Arrays.toString(asked));
    }
    int[] descriptors = new int[asked[2]];
    int exported = 0;
    try {
      for (; exported < descriptors.length; exported++) {
        descriptors[exported] = export(asked[0], asked[1] + exported);
      }
      worker.send(descriptors);
    } finally {
      Arrays.stream(descriptors, 0, exported).forEach(UnixSocket::close);
    }
  }

  private int export(int kind, int page) {
    return switch (kind) {
      case WEIGHTS -> memory.export(pages.handle(page));
      case STATES -> states.export(page);
      default -> throw new IllegalArgumentException("there are no pages of kind " + kind);
    };
  }

  /** Asks for all pages of weights; answers their handles in this process. */
  public static long[] takeWeights(VirtualMemory memory, String name, int pages) {
    long[] handles = new long[pages];
    for (int first = 0; first < pages; first += UnixSocket.MOST_DESCRIPTORS) {
      int count = Math.min(UnixSocket.MOST_DESCRIPTORS, pages - first);
      System.arraycopy(take(memory, name, WEIGHTS, first, count), 0, handles, first, count);
    }
    return handles;
  }

  /**
   * Asks for some pages of states, at most {@link UnixSocket#MOST_DESCRIPTORS}; answers their
   * handles in this process.
   */
  public static long[] takeStates(VirtualMemory memory, String name, int first, int count) {
    return take(memory, name, STATES, first, count);
  }

  private static long[] take(VirtualMemory memory, String name, int kind, int first, int count) {
    try (UnixSocket server = UnixSocket.connect(name)) {
      server.sendNumbers(kind, first, count);
      int[] descriptors = server.receive();
      if (descriptors == null || descriptors.length != count) {
        throw new IllegalStateException(
            "the server has not handed over %d pages from %d on".formatted(count, first));
      }
      return imported(memory, descriptors);
    }
  }

  private static long[] imported(VirtualMemory memory, int[] descriptors) {
    long[] handles = new long[descriptors.length];
    int taken = 0;
    try {
      for (; taken < descriptors.length; taken++) {
        handles[taken] = memory.importFrom(descriptors[taken]);
      }
      return handles;
    } catch (RuntimeException e) {
      Arrays.stream(handles, 0, taken).forEach(memory::release);
      throw e;
    } finally {
      Arrays.stream(descriptors).forEach(UnixSocket::close);
    }
  }

  @Override
  public void close() {
    closed = true;
    socket.shutDown();
    ThreadEnd.await(thread);
    socket.close();
  }
}
