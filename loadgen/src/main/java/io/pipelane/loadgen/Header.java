package io.pipelane.loadgen;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A header that every request carries. Its text leaves the value out: that may be a secret. */
record Header(String name, String value) {
  @Override
  public String toString() {
    return name + ": (not kept)";
  }

  /** A converter of {@code NAME: VALUE}. */
  static final class Converter implements ITypeConverter<Header> {
    @Override
    public Header convert(String text) {
      int colon = text.indexOf(':');
      String name = colon < 0 ? "" : text.substring(0, colon).strip();
      String value = text.substring(colon + 1).strip();
      if (!name.matches("[A-Za-z0-9-_.]{1,100}") || !value.matches("[\\x20-\\x7e]*")) {
        throw new TypeConversionException(
            "\"" + name + "...\" is no header; write NAME:VALUE, in ASCII");
      }
      return new Header(name, value);
    }
  }
}
