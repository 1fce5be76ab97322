package io.pipelane.server.access;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.config.StatusException;
import java.util.Set;
import java.util.function.Function;

/**
 * The limits on what somebody may ask, as a file of keys writes them, or a token.
 *
 * @param node has the members
 * @param refused says to whoever wrote them what is wrong
 */
record WrittenLimits(JsonNode node, Function<String, StatusException> refused) {
  private static final String RATE = "requests-per-second";

  /** What may be written. */
  static final Set<String> MEMBERS = Set.of(RATE, "burst", "concurrent-requests", "priority");

  private static final int MAXIMUM_COUNT = 1_000_000;
  private static final double MINIMUM_RATE = 1e-3;
  private static final double MAXIMUM_RATE = 1e9;

  /**
   * The limits.
   *
   * @param otherwise those that hold where nothing is written
   */
  Allowance.Limits over(Allowance.Limits otherwise) {
    double rate = rate(otherwise.requestsPerSecond());
    int evenly = node.has(RATE) ? Allowance.Limits.burst(rate) : otherwise.burst();
    return new Allowance.Limits(
        rate, count("burst", evenly), count("concurrent-requests", otherwise.concurrentRequests()));
  }

  /** Whether all that is asked is offline work. */
  boolean isOffline() {
    if (!node.has("priority")) {
      return false;
    }
    return switch (node.path("priority").asText()) {
      case "online" -> false;
      case "offline" -> true;
      default -> throw refused.apply("priority must be online or offline");
    };
  }

  private double rate(double otherwise) {
    JsonNode written = node.path(RATE);
    if (written.isMissingNode()) {
      return otherwise;
    }
    double value = written.asDouble();
    if (!written.isNumber() || !(value >= MINIMUM_RATE) || value > MAXIMUM_RATE) {
      throw refused.apply(
          "%s must be a number from %s to %.0f, not %s"
              .formatted(RATE, MINIMUM_RATE, MAXIMUM_RATE, written));
    }
    return value;
  }

  private int count(String member, int otherwise) {
    JsonNode written = node.path(member);
    if (written.isMissingNode()) {
      return otherwise;
    }
    int value =
        written.canConvertToExactIntegral() && written.canConvertToInt() ? written.intValue() : 0;
    if (value < 1 || value > MAXIMUM_COUNT) {
      throw refused.apply(
          "%s must be a whole number from 1 to %d, not %s"
              .formatted(member, MAXIMUM_COUNT, written));
    }
    return value;
  }
}
