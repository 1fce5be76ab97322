package io.pipelane.loadgen.settings;

/**
 * The cause that makes the next request leave: an answer (closed loop) or the clock (open loop).
 */
public sealed interface LoadMode {
  /** The most connections a test may open. */
  int MAXIMUM_CONNECTIONS = 65_536;

  /** Connections that are kept open; each carries one request at a time. */
  int connections();

  /** How much load it is as options, sweeps and searches count it. */
  double load();

  /** That in a few words, like {@code concurrency 4}. */
  String label();

  /** In words, for people. */
  String description();

  /** The closed loop: every connection sends its next request as soon as it has its answer. */
  record Closed(int concurrency) implements LoadMode {
    public Closed {
      requirePositive("concurrency", concurrency);
    }

    @Override
    public int connections() {
      return concurrency;
    }

    @Override
    public double load() {
      return concurrency;
    }

    @Override
    public String label() {
      return "concurrency " + concurrency;
    }

    @Override
    public String description() {
      return "closed loop, " + connectionsText(concurrency);
    }
  }

  /**
   * The open loop: requests leave at times that do not depend on the server; one that finds all
   * connections busy waits, and its waiting counts as latency.
   */
  record Open(ArrivalPattern arrivals, int connections) implements LoadMode {
    public Open {
      requirePositive("connections", connections);
    }

    @Override
    public double load() {
      return arrivals.askedRate();
    }

    @Override
    public String label() {
      return arrivals.label();
    }

    @Override
    public String description() {
      return "open loop, " + arrivals.description() + ", " + connectionsText(connections);
    }
  }

  private static String connectionsText(int connections) {
    return connections == 1 ? "1 connection" : connections + " connections";
  }

  private static void requirePositive(String name, int connections) {
    if (connections < 1 || connections > MAXIMUM_CONNECTIONS) {
      throw new IllegalArgumentException(
          name + " must be between 1 and " + MAXIMUM_CONNECTIONS + ": " + connections);
    }
  }
}
