package io.pipelane.config.value;

import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** The URLs at any of which one service is reached, such as those of the members of a cluster. */
public record Addresses(List<URI> urls) {
  /** The largest port that there is. */
  public static final int LARGEST_PORT = 65_535;

  private static final int MOST = 16;

  /**
   * @throws IllegalArgumentException when there is none, or more than 16
   */
  public Addresses {
    urls = List.copyOf(urls);
    if (urls.isEmpty() || urls.size() > MOST) {
      throw new IllegalArgumentException(urls.size() + " URLs, there must be 1 to " + MOST);
    }
  }

  /**
   * Reads URLs with commas between them.
   *
   * @throws IllegalArgumentException when one is no URL of HTTP
   */
  public static Addresses parse(String text) {
    return new Addresses(
        Arrays.stream(text.split(",", -1)).map(String::strip).map(Addresses::parseUrl).toList());
  }

  /**
   * An address of HTTP, with a host, and a port that can be or none. Who asks is not named in it:
   * nothing would be done with that, and a configuration is printed.
   *
   * @throws IllegalArgumentException for another text
   */
  public static URI parseUrl(String text) {
    URI address = URI.create(text);
    if (!text.matches("https?://.*") || address.getHost() == null) {
      throw new IllegalArgumentException("not a URL of HTTP");
    }
    if (address.getUserInfo() != null) {
      throw new IllegalArgumentException("a URL that names who asks");
    }
    if (address.getPort() == 0 || address.getPort() > LARGEST_PORT) {
      throw new IllegalArgumentException("a port that is not from 1 to " + LARGEST_PORT);
    }
    return address;
  }

  /** As it is written in a configuration. */
  @Override
  public String toString() {
    return urls.stream().map(URI::toString).collect(Collectors.joining(","));
  }
}
