package io.pipelane.server.hosts;

import io.pipelane.config.section.ServerConfig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;

/**
 * The address at which a host takes requests; its text, such as {@code 10.0.0.5:8000}, is the
 * host's name.
 *
 * @param secure whether it is spoken to by TLS
 */
record HostAddress(String host, int port, boolean secure) {
  private static final int HTTP_PORT = 80;
  private static final int HTTPS_PORT = 443;

  /**
   * The address that a URL names; its path does not count.
   *
   * @throws IllegalArgumentException when it is no URL of HTTP
   */
  static HostAddress of(URI url) {
    boolean secure = "https".equals(url.getScheme());
    if (url.getHost() == null || !(secure || "http".equals(url.getScheme()))) {
      throw new IllegalArgumentException("\"" + url + "\" is no URL of HTTP with a host");
    }
    String host = url.getHost().replaceAll("^\\[|\\]$", "");
    int port = url.getPort() < 0 ? (secure ? HTTPS_PORT : HTTP_PORT) : url.getPort();
    if (port < 1 || port > ServerConfig.LARGEST_PORT) {
      throw new IllegalArgumentException(
          "\"" + url + "\" has no port from 1 to " + ServerConfig.LARGEST_PORT);
    }
    return new HostAddress(host, port, secure);
  }

  /** Where it is as far as that is known without a lookup: an address in numbers needs none. */
  InetSocketAddress withoutLookup() {
    try {
      return new InetSocketAddress(InetAddress.ofLiteral(host), port);
    } catch (IllegalArgumentException e) {
      return InetSocketAddress.createUnresolved(host, port);
    }
  }

  /** Where to connect to; unresolved if the name is not known. Blocks for a name. */
  InetSocketAddress resolve() {
    return new InetSocketAddress(host, port);
  }

  String url() {
    return (secure ? "https://" : "http://") + this;
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
