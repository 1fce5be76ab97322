package io.pipelane.server.state;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.server.placement.JobPlace;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.memory.account.Ledger;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A server at one moment.
 *
 * @param startedMillis when it began to count, since the epoch
 * @param timeMillis the moment, since the epoch
 * @param devices by name
 * @param jobs how many the caller may list
 * @param offlineJobs those that have a device
 */
public record ServerState(
    long startedMillis,
    long timeMillis,
    boolean ready,
    List<Model> models,
    Map<String, DeviceState> devices,
    int jobs,
    List<OfflineJob> offlineJobs,
    SeenWorkers workers) {
  public ServerState {
    models = List.copyOf(models);
    offlineJobs = List.copyOf(offlineJobs);
  }

  /**
   * A version of a model.
   *
   * @param requests empty for one that has never been asked
   * @param priority the class of its requests that name none; empty for one that is not answered
   * @param weights by device, the one that it had first first; empty for one that is not in service
   */
  public record Model(
      Entry entry,
      Optional<ModelCounters> requests,
      Optional<Priority> priority,
      List<Weights> weights) {
    public Model {
      weights = List.copyOf(weights);
    }
  }

  /** A job and the device that it has. */
  public record OfflineJob(String id, ModelVersion model, JobPlace place) {}

  /** A device's part of a model's weights. */
  public record Weights(String device, Ledger.Entry ledger) {}
}
