package io.pipelane.server.catalog;

import java.time.Duration;
import java.util.Optional;

/**
 * How a model is to be loaded.
 *
 * @param within how soon its weights should be on their device; empty for when there is time
 * @param config what stands for the owner's configuration until the next load, a {@code
 *     ModelConfig} as JSON; empty for what the repository says
 */
public record LoadOptions(Optional<Duration> within, Optional<String> config) {
  public static final LoadOptions NONE = new LoadOptions(Optional.empty(), Optional.empty());
}
