package io.pipelane.bench.switching;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import java.lang.foreign.MemorySegment;

/** The relative difference of two FP32 answers. */
final class Difference {
  private Difference() {}

  /** The norm of the difference over the norm of what is expected. */
  static double relative(MemorySegment actual, MemorySegment expected) {
    double difference = 0;
    double norm = 0;
    for (long at = 0; at < expected.byteSize(); at += Float.BYTES) {
      double b = expected.get(JAVA_FLOAT_UNALIGNED, at);
      double a = actual.get(JAVA_FLOAT_UNALIGNED, at);
      difference += (a - b) * (a - b);
      norm += b * b;
    }
    return Math.sqrt(difference / norm);
  }
}
