package io.pipelane.lanes.cuda.copy;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * The buffers of a lent link, taken in turn: each is free again once the receiver of what is there
 * has fetched it, or has failed and never will. Not safe for several threads.
 */
final class LentBuffers {
  /*
   * A buffer is free when its word has come to its number: the receiver's stream writes the word
   * behind the fetch. A receiver that has failed writes nothing. So whoever wants a buffer that was
   * not fetched for long asks after its receiver, once each time: asking the driver again and again
   * keeps others from launching.
   *
   * No word is overtaken by a receiver before: one that is alive has written its number when the
   * buffer is free, one that has failed writes nothing more, and a stream is closed once the marks
   * behind all of its fetches have been awaited (CudaCopyEngine.close ends the threads first). What
   * comes late all the same, of a copy whose mark the driver refused, is a smaller number. That
   * never says that a piece was fetched which was not: it keeps the buffer taken until the receiver
   * of that piece is closed.
   */
  static final Duration PATIENCE = Duration.ofSeconds(1);

  private static final VarHandle WORD = JAVA_INT.varHandle();

  private final MemorySegment words;
  private final LongSupplier nanoClock;
  private final int[] numbers;
  private final long[] askedNanos;
  private final BooleanSupplier[] failed;
  private int next;

  /**
   * Buffers that are free.
   *
   * @param words one for each, which receivers write to
   */
  LentBuffers(MemorySegment words, LongSupplier nanoClock) {
    int count = Math.toIntExact(words.byteSize() / JAVA_INT.byteSize());
    this.words = words.fill((byte) 0);
    this.nanoClock = nanoClock;
    this.numbers = new int[count];
    this.askedNanos = new long[count];
    this.failed = new BooleanSupplier[count];
    Arrays.fill(failed, (BooleanSupplier) () -> false);
  }

  /** Whose turn it is. */
  int next() {
    return next;
  }

  /**
   * The buffer whose turn it is, which is free, is used; the next one's turn it is then.
   *
   * @param hasFailed whether the receiver will fetch nothing more
   * @return what it writes to the buffer's word behind the fetch
   */
  int use(BooleanSupplier hasFailed) {
    int buffer = next;
    failed[buffer] = hasFailed;
    askedNanos[buffer] = nanoClock.getAsLong();
    next = (buffer + 1) % numbers.length;
    return ++numbers[buffer];
  }

  boolean isFree(int buffer) {
    long word = wordOffset(buffer);
    if ((int) WORD.getVolatile(words, word) != numbers[buffer] && isAbandoned(buffer)) {
      WORD.setVolatile(words, word, numbers[buffer]);
    }
    return (int) WORD.getVolatile(words, word) == numbers[buffer];
  }

  private boolean isAbandoned(int buffer) {
    long now = nanoClock.getAsLong();
    if (now - askedNanos[buffer] < PATIENCE.toNanos()) {
      return false;
    }
    askedNanos[buffer] = now;
    return failed[buffer].getAsBoolean();
  }

  /** Where a buffer's word is. */
  static long wordOffset(int buffer) {
    return buffer * JAVA_INT.byteSize();
  }
}
