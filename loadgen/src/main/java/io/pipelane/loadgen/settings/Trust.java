package io.pipelane.loadgen.settings;

import java.nio.file.Path;

/** Whose certificates a secured connection accepts. */
public sealed interface Trust {
  /** Those signed by the authorities that the JDK knows, for the name that was asked for. */
  record Known() implements Trust {}

  /** Those signed by the authorities in a file of PEM certificates, for the name asked for. */
  record Authorities(Path file) implements Trust {}

  /** Any at all: encrypted, but nobody knows with whom. */
  record Anybody() implements Trust {}
}
