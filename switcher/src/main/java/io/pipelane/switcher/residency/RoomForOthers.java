package io.pipelane.switcher.residency;

import java.util.Arrays;

/**
 * The pages that a device can hold for other devices' requests, and what its own would lose by
 * that, as it was at one moment. Not safe for several threads.
 */
public final class RoomForOthers {
  private final long pageBytes;
  private final double[] losses; // the least first
  private int held;

  /**
   * Holds nothing for others yet.
   *
   * @param idlePages that own requests do not need
   * @param losses what own requests would wait longer without each page that they do need, in
   *     nanoseconds each second
   */
  public RoomForOthers(long pageBytes, int idlePages, double... losses) {
    this.pageBytes = pageBytes;
    this.losses = new double[idlePages + losses.length];
    System.arraycopy(losses, 0, this.losses, idlePages, losses.length);
    Arrays.sort(this.losses);
  }

  /** That of a device that cannot be used. */
  public static RoomForOthers none() {
    return new RoomForOthers(1, 0);
  }

  /**
   * What own requests would wait longer, in nanoseconds each second, if so many bytes more were
   * held for others; infinite where there is no room.
   */
  public double lossPerSecond(long bytes) {
    long end = held + pages(bytes);
    if (end > losses.length) {
      return Double.POSITIVE_INFINITY;
    }
    double loss = 0;
    for (int page = held; page < end; page++) {
      loss += losses[page];
    }
    return loss;
  }

  /** Whether others save a good deal more by so many bytes than own requests would lose. */
  public boolean isWorthHolding(long bytes, double savedPerSecond) {
    return savedPerSecond >= IdleMoves.WORTH_MOVING * lossPerSecond(bytes);
  }

  /** Holds so many bytes more, for which there is room. */
  public void hold(long bytes) {
    held = Math.toIntExact(held + pages(bytes));
  }

  /** What could be held at no loss. */
  public long idleBytes() {
    int end = held;
    while (end < losses.length && losses[end] == 0) {
      end++;
    }
    return (end - held) * pageBytes;
  }

  private long pages(long bytes) {
    return Math.ceilDiv(bytes, pageBytes);
  }
}
