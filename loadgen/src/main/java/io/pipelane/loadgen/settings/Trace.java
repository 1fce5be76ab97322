package io.pipelane.loadgen.settings;

import java.time.Duration;
import java.util.Arrays;

/** Requests in the order of their times, each for one variant of one model of a test. Immutable. */
public final class Trace {
  /** The most requests that a trace holds. */
  public static final int MAXIMUM_REQUESTS = 20_000_000;

  private final long[] offsetNanos;
  private final int[] models;
  private final int[] variants;

  /**
   * A trace over parallel arrays.
   *
   * @param offsetNanos from the beginning of the test, not falling
   * @param models index into the test's models
   * @param variants index into that model's variants
   */
  public Trace(long[] offsetNanos, int[] models, int[] variants) {
    if (offsetNanos.length == 0 || offsetNanos.length > MAXIMUM_REQUESTS) {
      throw new IllegalArgumentException(
          "a trace holds between 1 and " + MAXIMUM_REQUESTS + " requests: " + offsetNanos.length);
    }
    if (models.length != offsetNanos.length || variants.length != offsetNanos.length) {
      throw new IllegalArgumentException("a trace's columns must be of one length");
    }
    for (int i = 0; i < offsetNanos.length; i++) {
      if (offsetNanos[i] < (i == 0 ? 0 : offsetNanos[i - 1])) {
        throw new IllegalArgumentException(
            "a trace's times must not fall: request %d at %d ns".formatted(i, offsetNanos[i]));
      }
    }
    this.offsetNanos = offsetNanos.clone();
    this.models = models.clone();
    this.variants = variants.clone();
  }

  /**
   * The same requests, each for a variant that whoever replays them chooses.
   *
   * @param any what stands for that
   */
  public Trace ofAnyVariant(int any) {
    int[] none = new int[variants.length];
    Arrays.fill(none, any);
    return new Trace(offsetNanos, models, none);
  }

  public int size() {
    return offsetNanos.length;
  }

  /** When a request is meant to leave, from the beginning of the test. */
  public long offsetNanos(int request) {
    return offsetNanos[request];
  }

  public int model(int request) {
    return models[request];
  }

  public int variant(int request) {
    return variants[request];
  }

  /** A time just behind the last request. */
  public Duration length() {
    return Duration.ofNanos(offsetNanos[offsetNanos.length - 1] + 1_000_000);
  }

  double requestsPerSecond() {
    return offsetNanos.length * 1e9 / length().toNanos();
  }
}
