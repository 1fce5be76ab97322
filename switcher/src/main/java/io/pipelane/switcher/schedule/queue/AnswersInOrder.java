package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.StatusException;
import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A line that tells callers the ends of their requests in the order in which the requests came,
 * whatever order they ran in. Safe for any thread.
 */
final class AnswersInOrder {
  /*
   * The monitor guards the line and every entry's end. Ends are told without it, by one thread at a
   * time: `telling`. Who finds it set leaves its entry to that thread, which looks again.
   */
  private static final System.Logger LOG = System.getLogger(AnswersInOrder.class.getName());

  private final Deque<Entry> line = new ArrayDeque<>();
  private boolean telling;

  /** A handler that is told the end in turn: behind all those asked for before. */
  ResultHandler inOrder(ResultHandler handler) {
    Entry entry = new Entry(handler);
    synchronized (this) {
      line.addLast(entry);
    }
    return entry;
  }

  private void ended(Entry entry, Consumer<ResultHandler> end) {
    synchronized (this) {
      entry.end = end;
    }
    @Nullable Entry next = next();
    while (next != null) {
      try {
        next.tell();
      } catch (RuntimeException | Error e) { // The handler is its caller's, others wait behind it.
        LOG.log(Level.ERROR, "telling the end of a request failed", e);
      } finally {
        told();
      }
      next = next();
    }
  }

  private synchronized @Nullable Entry next() {
    @Nullable Entry first = line.peekFirst();
    if (telling || first == null || first.end == null) {
      return null;
    }
    telling = true;
    return line.removeFirst();
  }

  private synchronized void told() {
    telling = false;
  }

  private final class Entry implements ForwardingHandler {
    private final ResultHandler handler;
    private @Nullable Consumer<ResultHandler> end;

    Entry(ResultHandler handler) {
      this.handler = handler;
    }

    @Override
    public ResultHandler handler() {
      return handler;
    }

    void tell() {
      if (end != null) {
        end.accept(handler);
      }
    }

    @Override
    public void completed(InferenceTimings timings) {
      ended(this, to -> to.completed(timings));
    }

    @Override
    public void failed(StatusException error) {
      ended(this, to -> to.failed(error));
    }
  }
}
