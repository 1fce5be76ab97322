package io.pipelane.loadgen.server;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.request.ModelMetadata;
import java.util.List;
import java.util.Optional;

/**
 * A client that asks a server about itself and its models, beside the load. One thread at a time.
 */
public interface ServerClient extends AutoCloseable {
  /**
   * Asks for one model's inputs.
   *
   * @param version of it; empty for the one that the server picks
   * @throws StatusException {@link Status#UNAVAILABLE} when the server cannot be asked, {@link
   *     Status#NOT_FOUND} when it knows no such model, {@link Status#INTERNAL} when its answer
   *     makes no sense
   */
  ModelMetadata model(String name, String version) throws InterruptedException;

  /**
   * Asks for the models that are ready, by the repository extension, in the order of their names.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} when the server has no index
   */
  List<String> readyModels() throws InterruptedException;

  /** Asks what the server is; it need not say. */
  ServerDescription description() throws InterruptedException;

  /**
   * Asks what requests to all of a model's versions were spent on; empty where the server does not
   * count that.
   */
  Optional<ModelStatistics> statistics(String model) throws InterruptedException;

  @Override
  void close();
}
