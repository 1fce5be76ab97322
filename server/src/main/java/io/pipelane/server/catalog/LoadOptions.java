package io.pipelane.server.catalog;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * The options of a request to load a model.
 *
 * @param within how soon its weights should be on their device; empty for when there is time
 * @param config what stands for the owner's configuration until the next load, a {@code
 *     ModelConfig} as JSON; empty for what the repository says
 * @param files what stands for the model's folder until the next load, by paths in it like {@code
 *     1/model.onnx}; empty for the repository's. They come with a configuration only
 */
public record LoadOptions(
    Optional<Duration> within, Optional<String> config, Map<String, byte[]> files) {
  public static final LoadOptions NONE =
      new LoadOptions(Optional.empty(), Optional.empty(), Map.of());
}
