package io.pipelane.server.http;

import io.pipelane.server.net.Tls;
import io.pipelane.server.net.Transport;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The settings of the HTTP server.
 *
 * @param port 0 picks a free one
 * @param eventLoops threads that serve connections
 * @param maxRequestBytes largest body of a request
 * @param maxConnections connections beyond it are answered 503 and closed
 * @param idleTimeout how long a connection may neither send nor take a byte while no request of its
 *     own is being answered
 * @param tls empty for connections that are not encrypted
 * @param origins of this server's own pages, beside that which a request's host makes
 */
public record HttpSettings(
    String host,
    int port,
    Transport transport,
    int eventLoops,
    int maxRequestBytes,
    int maxConnections,
    Duration idleTimeout,
    Optional<Tls> tls,
    List<URI> origins) {
  private static final int LARGEST_REQUEST_LIMIT = 1 << 30;

  /** One whose pages are known by the host that requests are for. */
  public HttpSettings(
      String host,
      int port,
      Transport transport,
      int eventLoops,
      int maxRequestBytes,
      int maxConnections,
      Duration idleTimeout,
      Optional<Tls> tls) {
    this(
        host,
        port,
        transport,
        eventLoops,
        maxRequestBytes,
        maxConnections,
        idleTimeout,
        tls,
        List.of());
  }

  public HttpSettings {
    origins = List.copyOf(origins);
    Objects.requireNonNull(host);
    Objects.requireNonNull(transport);
    checkRange("port", port, 0, 65_535);
    checkRange("eventLoops", eventLoops, 1, 1024);
    checkRange("maxRequestBytes", maxRequestBytes, 1024, LARGEST_REQUEST_LIMIT);
    checkRange("maxConnections", maxConnections, 1, 1_000_000);
    if (idleTimeout.compareTo(Duration.ofMillis(1)) < 0) {
      throw new IllegalArgumentException("idleTimeout is " + idleTimeout + ", least is 1 ms");
    }
  }

  private static void checkRange(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + " is " + value + ", it must lie within " + least + " to " + most);
    }
  }
}
