package io.pipelane.lanes.cuda;

/** The time that a lane's thread stays awake for what should come at any moment. */
public final class AwakeTime {
  /** A core that has fallen asleep takes some tens of microseconds to be back. */
  private static final long NANOS = 250_000;

  /** Fewer have other things to do. */
  private static final int LEAST_PROCESSORS = 8;

  private AwakeTime() {}

  public static long nanos() {
    return Runtime.getRuntime().availableProcessors() < LEAST_PROCESSORS ? 0 : NANOS;
  }
}
