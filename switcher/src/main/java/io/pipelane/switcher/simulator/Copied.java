package io.pipelane.switcher.simulator;

/** Bytes {@code [offset, end)} of a model's weights, sent for by one copy. */
public record Copied(int model, long offset, long end, CopyReason reason) {
  public long byteSize() {
    return end - offset;
  }
}
