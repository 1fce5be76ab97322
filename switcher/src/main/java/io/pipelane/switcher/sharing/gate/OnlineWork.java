package io.pipelane.switcher.sharing.gate;

import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.ResultHandler;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The online requests of a device that are in flight, and when the next may come. Safe for any
 * thread.
 */
public final class OnlineWork {
  /*
   * A request is in flight from its submission until its run has computed, or it is answered, but
   * for the time that its run waits for memory: that may be a held offline run's, which then has to
   * go on.
   */
  private final AtomicInteger inFlight = new AtomicInteger();
  private final AtomicInteger waiting = new AtomicInteger();
  private final LongAdder requests = new LongAdder();
  private final ArrivalForecast forecast = new ArrivalForecast(); // guarded by itself
  private volatile Runnable whenIdle = () -> {};
  private volatile Runnable whenBusy = () -> {};

  /** Has somebody told, on any thread, when online work no longer keeps offline work waiting. */
  void onIdle(Runnable listener) {
    whenIdle = listener;
  }

  /** Has somebody told, on any thread, when online work may begin to keep offline work waiting. */
  void onBusy(Runnable listener) {
    whenBusy = listener;
  }

  /** A request comes, now by the device's clock; it is not in flight yet. */
  public void arrived(long nowNanos) {
    requests.increment();
    synchronized (forecast) {
      forecast.arrived(nowNanos);
    }
  }

  /** A request that has come is in flight until the handler returned is told that it is not. */
  public ResultHandler begin(ResultHandler handler) {
    ResultHandler told = new InFlight(handler);
    inFlight.incrementAndGet();
    try {
      whenBusy.run();
    } catch (RuntimeException | Error e) { // Nobody else would end it.
      end();
      throw e;
    }
    return told;
  }

  /** The handler of an online request in flight; told by one thread after another. */
  private final class InFlight implements ForwardingHandler {
    private final ResultHandler handler;
    private boolean over;

    InFlight(ResultHandler handler) {
      this.handler = handler.andThen(this::end);
    }

    @Override
    public ResultHandler handler() {
      return handler;
    }

    @Override
    public void computed() {
      try {
        handler.computed();
      } finally {
        end();
      }
    }

    @Override
    public void computesAgain() {
      handler.computesAgain();
      if (over) {
        over = false;
        inFlight.incrementAndGet();
        whenBusy.run();
      }
    }

    private void end() {
      if (!over) {
        over = true;
        OnlineWork.this.end();
      }
    }
  }

  /** A request that has begun was refused, or begins anew. */
  public void end() {
    inFlight.decrementAndGet();
    tellIfIdle();
  }

  /** An online run begins to wait for memory. */
  public void waitsForMemory() {
    waiting.incrementAndGet();
    whenIdle.run();
  }

  /** It does so no longer. */
  public void gotMemory() {
    waiting.decrementAndGet();
    if (isInFlight()) {
      whenBusy.run();
    } else {
      whenIdle.run();
    }
  }

  /** Somebody online who has no run yet and may have to wait for memory; of one thread. */
  public final class MemoryWait implements AutoCloseable {
    private boolean waits;

    /** He has to wait, from the first call on. */
    public void begin() {
      if (!waits) {
        waits = true;
        inFlight.incrementAndGet();
        waitsForMemory();
      }
    }

    /** He has what he waited for, if he waited; he may have to wait again. */
    public void end() {
      if (waits) {
        waits = false;
        inFlight.decrementAndGet();
        gotMemory();
      }
    }

    /** He wants nothing more. */
    @Override
    public void close() {
      end();
    }
  }

  private void tellIfIdle() {
    if (!isInFlight()) {
      whenIdle.run();
    }
  }

  boolean isWaitingForMemory() {
    return waiting.get() > 0;
  }

  /** How many online requests are in flight, whatever they wait for. */
  int count() {
    return inFlight.get();
  }

  /** Whether an online request is under way, and not for want of memory. */
  public boolean isInFlight() {
    return inFlight.get() > waiting.get();
  }

  /** How long a segment has to wait for a request that is expected; see {@link ArrivalForecast}. */
  long expectedWaitNanos(long segmentNanos, long nowNanos) {
    synchronized (forecast) {
      return forecast.waitNanos(segmentNanos, nowNanos);
    }
  }

  /** When the next request is expected; null where that cannot be told. */
  @Nullable ExpectedArrival expected() {
    synchronized (forecast) {
      return forecast.next();
    }
  }

  /** Whether no request has come for a while. */
  boolean isQuiet(long nowNanos) {
    synchronized (forecast) {
      return forecast.isQuiet(nowNanos);
    }
  }

  /** What it has come to since the start. */
  public Counts counts(long nowNanos) {
    synchronized (forecast) {
      return new Counts(requests.sum(), forecast.perSecond(nowNanos));
    }
  }

  /**
   * The figures of online work since the start.
   *
   * @param requests submitted
   * @param perSecond lately; 0 while that is not known
   */
  public record Counts(long requests, double perSecond) {}
}
