package io.pipelane.config;

import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The place of the configuration file: where the user says, or else where packages put it. */
public final class ConfigLocation {
  /** Read when no other file is named and it is there. */
  public static final Path OF_THE_SYSTEM = Path.of("/etc/pipelane/pipelane.yaml");

  private ConfigLocation() {}

  /**
   * The file to read; null for none.
   *
   * @param named what the user says; null where nothing
   * @param system what is read then if it exists
   */
  public static @Nullable Path of(@Nullable Path named, Path system) {
    if (named != null) {
      return named;
    }
    return Files.exists(system) ? system : null;
  }
}
