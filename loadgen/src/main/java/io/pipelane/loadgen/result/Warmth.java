package io.pipelane.loadgen.result;

/** A server's word about where a model's weights were when a request came. */
public enum Warmth {
  /** Nothing. */
  UNTOLD,
  WARM,
  /** The request had to wait for weights. */
  COLD;

  /** The header that says it, microseconds that the request waited for weights; in lower case. */
  public static final String STALL_HEADER = "pipelane-stall-us";

  /** What the header's value says. */
  public static Warmth ofStall(long micros) {
    return micros > 0 ? COLD : WARM;
  }
}
