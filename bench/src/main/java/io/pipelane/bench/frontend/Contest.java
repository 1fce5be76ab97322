package io.pipelane.bench.frontend;

import io.pipelane.bench.report.Results;
import java.time.Duration;

/** Pipelane and a ceiling, asked the same thing one after the other. */
interface Contest {
  /** Loads both for a while each, unmeasured. */
  void warm(int connections, Duration length) throws Exception;

  /** One round: both have their turn, and their figures are added. */
  void measure(Results results, int connections, Duration length) throws Exception;

  /** What a contest is called in tables. */
  static String name(String subject, int connections) {
    return "%s, %d connection%s".formatted(subject, connections, connections == 1 ? "" : "s");
  }
}
