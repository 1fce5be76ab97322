package io.pipelane.loadgen.settings;

import io.pipelane.config.QuotedUrl;
import java.net.URI;
import java.util.Map;

/**
 * A server's address and how it is spoken to.
 *
 * @param url its scheme says the protocol: {@code http}, {@code grpc}, or either with an {@code s}
 *     behind it for TLS; a path goes in front of every HTTP request's
 * @param trust whose certificates are accepted, where there is TLS
 * @param headers that every request carries, in gRPC as metadata
 */
public record Endpoint(URI url, Trust trust, Map<String, String> headers) {
  private static final int MAXIMUM_PORT = 65_535;
  private static final Map<String, Integer> PORTS =
      Map.of("http", 80, "https", 443, "grpc", 8001, "grpcs", 8001);

  public Endpoint {
    headers = Map.copyOf(headers);
    if (url.getRawUserInfo() != null) {
      throw new IllegalArgumentException(
          "results keep the address: give a user and a password as a header, not in it");
    }
    if (url.getScheme() == null || !PORTS.containsKey(url.getScheme()) || url.getHost() == null) {
      throw new IllegalArgumentException(
          "\""
              + QuotedUrl.of(url.toString())
              + "\" is not a server's address; write http://host:port, https, grpc or grpcs");
    }
    if (url.getPort() > MAXIMUM_PORT) {
      throw new IllegalArgumentException(
          "the port of a server's address is at most " + MAXIMUM_PORT + ": " + url);
    }
  }

  /** A server whose certificate, if it has one, must be signed by an authority the JDK knows. */
  public static Endpoint of(URI url) {
    return new Endpoint(url, new Trust.Known(), Map.of());
  }

  public boolean isGrpc() {
    return url.getScheme().startsWith("grpc");
  }

  public boolean isSecured() {
    return url.getScheme().endsWith("s");
  }

  public String host() {
    return url.getHost();
  }

  /** The port named, or else the scheme's usual one. */
  public int port() {
    return url.getPort() >= 0 ? url.getPort() : PORTS.getOrDefault(url.getScheme(), 0);
  }

  @Override
  public String toString() {
    return url.toString();
  }
}
