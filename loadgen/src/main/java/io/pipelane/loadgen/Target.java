package io.pipelane.loadgen;

import java.net.URI;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A server to put under load.
 *
 * @param isDjl whether DJL Serving's own routes are asked rather than the protocol's
 */
record Target(URI url, boolean isDjl) {
  private static final String DJL = "djl+";

  static Target parse(String text) {
    boolean isDjl = text.startsWith(DJL);
    String address = isDjl ? text.substring(DJL.length()) : text;
    URI url = URI.create(address.contains("://") ? address : "http://" + address);
    return new Target(url, isDjl);
  }

  @Override
  public String toString() {
    return (isDjl ? DJL : "") + url;
  }

  /** Reads addresses from the command line. */
  static final class Converter implements ITypeConverter<Target> {
    @Override
    public Target convert(String text) {
      try {
        return parse(text);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(
            "\"" + text + "\" is not an address; write http://HOST:PORT");
      }
    }
  }
}
