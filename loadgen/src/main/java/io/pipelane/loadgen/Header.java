package io.pipelane.loadgen;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A header that every request carries. Its text leaves the value out: that may be a secret. */
record Header(String name, String value) {
  @Override
  public String toString() {
    return name + ": (not kept)";
  }

  private static Header of(String text) {
    int colon = text.indexOf(':');
    String name = colon < 0 ? "" : text.substring(0, colon).strip();
    String value = text.substring(colon + 1).strip();
    if (!name.matches("[A-Za-z0-9-_.]{1,100}") || !value.matches("[\\x20-\\x7e]*")) {
      throw new TypeConversionException(
          "\"" + name + "...\" is no header; write NAME:VALUE, in ASCII");
    }
    return new Header(name, value);
  }

  /**
   * A converter of {@code NAME: VALUE}, or of {@code @FILE} with one on each line: what stands on a
   * command line can be read by everybody on the machine.
   */
  static final class Converter implements ITypeConverter<List<Header>> {
    private static final int MAXIMUM_BYTES = 64 << 10;

    @Override
    public List<Header> convert(String text) {
      return text.startsWith("@") ? in(Path.of(text.substring(1))) : List.of(of(text));
    }

    /** It may be a pipe, as a shell makes of what a command prints. */
    private static List<Header> in(Path file) {
      try (InputStream opened = Files.newInputStream(file)) {
        byte[] bytes = opened.readNBytes(MAXIMUM_BYTES + 1);
        if (bytes.length > MAXIMUM_BYTES) {
          throw new TypeConversionException(
              file + " has more than " + MAXIMUM_BYTES + " bytes of headers");
        }
        List<Header> headers =
            new String(bytes, StandardCharsets.UTF_8)
                .lines()
                .filter(line -> !line.isBlank())
                .map(Header::of)
                .toList();
        if (headers.isEmpty()) {
          throw new TypeConversionException(file + " has no header; write NAME:VALUE on a line");
        }
        return headers;
      } catch (IOException e) {
        throw new TypeConversionException(file + " cannot be read: " + e);
      }
    }
  }
}
