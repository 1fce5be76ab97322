package io.pipelane.loadgen.settings;

import java.nio.file.Path;

/** The certificates that a secured connection accepts. */
public sealed interface Trust {
  /** Certificates signed by the authorities that the JDK knows, for the name that was asked for. */
  record Known() implements Trust {}

  /**
   * Certificates signed by the authorities in a file of PEM certificates, for the name asked for.
   */
  record Authorities(Path file) implements Trust {}

  /** Any certificates at all: encrypted, but nobody knows with whom. */
  record Anybody() implements Trust {}
}
