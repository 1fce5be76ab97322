package io.pipelane.server.protocol;

import org.jspecify.annotations.Nullable;

/** The version of Pipelane, as its jar knows it. */
public final class ProductVersion {
  private ProductVersion() {}

  /** For example {@code 0.1.0}; {@code development} outside a jar. */
  public static String get() {
    @Nullable String version = ProductVersion.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }
}
