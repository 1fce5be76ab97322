package io.pipelane.bench.measure;

/** One inference from beginning to end, as one caller makes it again and again; one thread's. */
@FunctionalInterface
public interface Run {
  /** Returns when the answer is there. */
  void run() throws Exception;
}
