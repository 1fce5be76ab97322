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
  /** What may be written. */
  static final Set<String> MEMBERS =
      Set.of("requests-per-second", "burst", "concurrent-requests", "priority");

  private static final int MAXIMUM_CONCURRENCY = 1_000_000;
  private static final double MAXIMUM_RATE = 1e9;

  /**
   * The limits.
   *
   * @param otherwise those that hold where nothing is written
   */
  Allowance.Limits over(Allowance.Limits otherwise) {
    double rate = number("requests-per-second", otherwise.requestsPerSecond(), MAXIMUM_RATE);
    int evenly = node.has("requests-per-second") ? Allowance.Limits.burst(rate) : otherwise.burst();
    return new Allowance.Limits(
        rate,
        (int) number("burst", evenly, MAXIMUM_CONCURRENCY),
        (int) number("concurrent-requests", otherwise.concurrentRequests(), MAXIMUM_CONCURRENCY));
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

  private double number(String member, double otherwise, double maximum) {
    JsonNode written = node.path(member);
    if (written.isMissingNode()) {
      return otherwise;
    }
    double value = written.asDouble();
    if (!written.isNumber() || !(value > 0) || value > maximum) {
      throw refused.apply(
          "%s must be a number above 0, at most %.0f, not %s".formatted(member, maximum, written));
    }
    return value;
  }
}
