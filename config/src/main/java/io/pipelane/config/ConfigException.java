package io.pipelane.config;

import java.io.Serial;
import java.util.Objects;

/**
 * A configuration that cannot be used; its message names where the value came from, the key, the
 * value, and what is allowed.
 */
public final class ConfigException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  public ConfigException(String message) {
    super(message);
  }

  public ConfigException(String message, Throwable cause) {
    super(message, cause);
  }

  @Override
  public String getMessage() {
    return Objects.requireNonNull(super.getMessage());
  }
}
