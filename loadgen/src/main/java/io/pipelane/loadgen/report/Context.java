package io.pipelane.loadgen.report;

import io.pipelane.loadgen.server.ServerDescription;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The context that an experiment's figures have to be read with, and what repeats it.
 *
 * @param name that tells it from others side by side
 * @param arguments of the command line
 * @param flags every option with its value, given or not
 * @param files SHA-256 of the files that were read, by path
 * @param objective the response time that answers should come within; null without one
 * @param classes of models that are looked at together
 * @param rowsPerRequest on the average
 */
public record Context(
    String name,
    Instant started,
    List<String> arguments,
    Map<String, @Nullable Object> flags,
    Map<String, String> files,
    long seed,
    URI url,
    ServerDescription server,
    Machine machine,
    Build build,
    @Nullable Duration objective,
    ModelClasses classes,
    double rowsPerRequest) {
  public Context {
    arguments = List.copyOf(arguments);
    files = Map.copyOf(files);
  }
}
