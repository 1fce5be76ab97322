package io.pipelane.loadgen.settings;

/** What makes the next request leave: an answer (closed loop) or the clock (open loop). */
public sealed interface LoadMode {
  /** Connections that are kept open; each carries one request at a time. */
  int connections();

  /** Every connection sends its next request as soon as it has its answer. */
  record Closed(int concurrency) implements LoadMode {
    public Closed {
      requirePositive("concurrency", concurrency);
    }

    @Override
    public int connections() {
      return concurrency;
    }
  }

  /**
   * Requests leave at times that do not depend on the server; one that finds all connections busy
   * waits, and its waiting counts as latency.
   */
  record Open(double requestsPerSecond, Distribution distribution, int connections)
      implements LoadMode {
    public Open {
      if (!(requestsPerSecond > 0 && requestsPerSecond <= 10_000_000)) {
        throw new IllegalArgumentException(
            "rate must be above 0 and at most 10000000 requests per second: " + requestsPerSecond);
      }
      requirePositive("connections", connections);
    }
  }

  /** How the times between the requests of an open loop are spread. */
  enum Distribution {
    /** All equal. */
    CONSTANT,
    /** Exponential: independent arrivals. */
    POISSON
  }

  /** The most connections a test may open. */
  int MAXIMUM_CONNECTIONS = 65_536;

  private static void requirePositive(String name, int connections) {
    if (connections < 1 || connections > MAXIMUM_CONNECTIONS) {
      throw new IllegalArgumentException(
          name + " must be between 1 and " + MAXIMUM_CONNECTIONS + ": " + connections);
    }
  }
}
