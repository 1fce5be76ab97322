package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Answers of a GPU, whose products in TF32 round otherwise than a CPU's or those of other rows. */
final class Tf32 {
  private static final double TOLERANCE = 2e-3;

  private Tf32() {}

  /** Compares the distance of two answers with the length of what is expected. */
  static void assertClose(float[] expected, float[] actual, String what) {
    assertEquals(expected.length, actual.length, what);
    double difference = 0;
    double norm = 0;
    for (int i = 0; i < expected.length; i++) {
      difference += Math.pow(actual[i] - expected[i], 2);
      norm += Math.pow(expected[i], 2);
    }
    double distance = Math.sqrt(difference);
    double allowed = TOLERANCE * Math.sqrt(norm);
    assertTrue(distance <= allowed, () -> what + ": off by " + distance + " of " + allowed);
  }
}
