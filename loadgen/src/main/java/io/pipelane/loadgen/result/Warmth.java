package io.pipelane.loadgen.result;

/** What a server says about where a model's weights were when a request came. */
public enum Warmth {
  /** Nothing. */
  UNTOLD,
  WARM,
  /** The request had to wait for weights. */
  COLD
}
