package io.pipelane.config.value;

import java.util.regex.Pattern;

/** A host's name or address, as sockets take it. */
public record HostName(String text) {
  private static final Pattern FORM = Pattern.compile("[\\w.:%-]{1,255}");

  /**
   * @throws IllegalArgumentException for what no host is called
   */
  public HostName {
    if (!FORM.matcher(text).matches()) {
      throw new IllegalArgumentException("not a host");
    }
  }

  @Override
  public String toString() {
    return text;
  }
}
