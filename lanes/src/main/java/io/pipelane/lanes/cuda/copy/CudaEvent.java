package io.pipelane.lanes.cuda.copy;

import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** The end of a copy: the processor can wait for it, and so can a stream without the processor. */
public final class CudaEvent implements StreamEvent {
  /*
   * First `issued`: the copy and its mark are on the copy stream, or will never be. Then `done`. The
   * mark serves another copy after that, so this object's monitor keeps it here while a stream is
   * told to wait for it.
   */

  private final Completion issued = new Completion();
  private final Completion done = new Completion();
  private final OptionalInt number;
  private @Nullable CudaMark mark;

  public CudaEvent() {
    number = OptionalInt.empty();
  }

  /** An event that the count of arrivals shows to other processes. */
  public CudaEvent(int number) {
    this.number = OptionalInt.of(number);
  }

  @Override
  public OptionalInt number() {
    return number;
  }

  @Override
  public boolean isDone() {
    return done.isDone();
  }

  @Override
  public void await() {
    done.await();
  }

  @Override
  public void whenDone(Runnable action) {
    done.whenDone(action);
  }

  @Override
  public void before(CudaStream stream) {
    issued.await();
    synchronized (this) {
      if (mark != null) {
        stream.waitFor(mark);
        return;
      }
    }
    done.await();
  }

  /** The copy has been enqueued, and the mark behind it. */
  public void issue(CudaMark mark) {
    synchronized (this) {
      this.mark = mark;
    }
    issued.complete(null);
  }

  /** The copy is done, or has failed. */
  public void complete(@Nullable Throwable failure) {
    issued.complete(failure); // First: what waits for `done` may take a while to hear of it.
    done.complete(failure);
    synchronized (this) {
      mark = null;
    }
  }
}
