package io.pipelane.config;

import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** The URLs at any of which one service is reached, such as those of the members of a cluster. */
public record Addresses(List<URI> urls) {
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
  static Addresses parse(String text) {
    return new Addresses(
        Arrays.stream(text.split(",", -1)).map(String::strip).map(ValueType::address).toList());
  }

  /** As it is written in a configuration. */
  @Override
  public String toString() {
    return urls.stream().map(URI::toString).collect(Collectors.joining(","));
  }
}
