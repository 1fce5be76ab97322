package io.pipelane.lanes;

import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;

/** Weights of zeros that are not read until they are let go, or that cannot be read at all. */
public final class HeldSource implements WeightSource {
  private final long byteSize;
  private final boolean failing;
  private final CountDownLatch reached = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);

  private HeldSource(long byteSize, boolean failing) {
    this.byteSize = byteSize;
    this.failing = failing;
  }

  public static HeldSource holding(long byteSize) {
    return new HeldSource(byteSize, false);
  }

  public static HeldSource failing(long byteSize) {
    HeldSource source = new HeldSource(byteSize, true);
    source.release();
    return source;
  }

  public void awaitReached() throws InterruptedException {
    reached.await();
  }

  public void release() {
    released.countDown();
  }

  @Override
  public long byteSize() {
    return byteSize;
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    reached.countDown();
    try {
      released.await();
    } catch (InterruptedException e) {
      throw new AssertionError("nobody interrupts a copy", e);
    }
    if (failing) {
      throw new UncheckedIOException(new IOException("the disk is gone"));
    }
    destination.fill((byte) 0);
  }

  @Override
  public void close() {}
}
