package io.pipelane.loadgen;

import java.net.URI;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A server to put under load, as a person names it.
 *
 * @param address with or without a scheme
 * @param isDjl whether DJL Serving's own routes are asked rather than the protocol's
 */
record Target(String address, boolean isDjl) {
  private static final String DJL = "djl+";

  static Target parse(String text) {
    boolean isDjl = text.startsWith(DJL);
    return new Target(isDjl ? text.substring(DJL.length()) : text, isDjl);
  }

  @Override
  public String toString() {
    return (isDjl ? DJL : "") + address;
  }

  /** A converter of addresses from the command line. */
  static final class Converter implements ITypeConverter<Target> {
    @Override
    public Target convert(String text) {
      Target target = parse(text);
      try {
        URI.create(target.address().contains("://") ? target.address() : "any://" + target.address);
        return target;
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(
            "\"" + text + "\" is not an address; write http://HOST:PORT");
      }
    }
  }
}
