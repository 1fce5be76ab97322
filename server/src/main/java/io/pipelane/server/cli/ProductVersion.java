package io.pipelane.server.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** The version of Pipelane, as its jar knows it. */
final class ProductVersion implements IVersionProvider {
  private static final String PROPERTIES =
      "/META-INF/maven/io.pipelane/pipelane-server/pom.properties";

  @Override
  public String[] getVersion() {
    return new String[] {"Pipelane " + read()};
  }

  static String read() {
    try (InputStream in = ProductVersion.class.getResourceAsStream(PROPERTIES)) {
      if (in == null) {
        return "(built from source)";
      }
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("version", "(unknown)");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
