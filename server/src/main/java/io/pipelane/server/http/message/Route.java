package io.pipelane.server.http.message;

import io.pipelane.server.access.Demand;
import io.pipelane.server.access.Role;
import io.pipelane.server.http.JobsApi;
import io.pipelane.server.http.SettingsApi;
import io.pipelane.server.http.SharedMemoryApi;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The thing that a request asks for by its path and its method. A version is empty where the path
 * gives none, see {@link io.pipelane.server.net.Backend#resolve}.
 */
public sealed interface Route {
  record ServerMetadata() implements Route {}

  record Live() implements Route {}

  record Ready() implements Route {}

  record ModelMetadata(String model, String version) implements Route {}

  record ModelReady(String model, String version) implements Route {}

  /** The statistics; empty text stands for all models, or all versions. */
  record Statistics(String model, String version) implements Route {}

  record Metrics() implements Route {}

  record Infer(String model, String version) implements Route {}

  record Index() implements Route {}

  record Load(String model) implements Route {}

  record Unload(String model) implements Route {}

  /** A version in the repository, or on its way there. */
  record StoredVersion(String model, String version) implements Route {}

  record Upload(String model, String version) implements Route {}

  record Delete(String model, String version) implements Route {}

  /** The choice of a model's versions. */
  record Versions(String model) implements Route {}

  record ChooseVersions(String model) implements Route {}

  /** The options that are to hold for all of a model's versions. */
  record Options(String model) implements Route {}

  record ChangeOptions(String model) implements Route {}

  record Workers() implements Route {}

  record Recycle(int worker) implements Route {}

  /** Other hosts that models are shared with. */
  record OtherHosts() implements Route {}

  record ModelConfiguration(String model, String version) implements Route {}

  /** The whole server's state. */
  record State() implements Route {}

  /** The whole server's state, pushed. */
  record Events() implements Route {}

  /** What has changed in the whole server's state, pushed. */
  record Changes() implements Route {}

  /** The samples that the devices' monitors have kept. */
  record Samples() implements Route {}

  /** A file of the web page. */
  record Page(String file) implements Route {}

  /** The routes that {@link JobsApi} answers. */
  sealed interface OfJobs extends Route {}

  record JobList() implements OfJobs {}

  record SubmitJob() implements OfJobs {}

  record ShowJob(String id) implements OfJobs {}

  record RemoveJob(String id) implements OfJobs {}

  /** The routes that {@link SettingsApi} answers. */
  sealed interface OfSettings extends Route {}

  /** The trace settings, of a model or of all. */
  record TraceSettings(@Nullable String model) implements OfSettings {}

  record ChangeTraceSettings(@Nullable String model) implements OfSettings {}

  record LogSettings() implements OfSettings {}

  record ChangeLogSettings() implements OfSettings {}

  /** The routes that {@link SharedMemoryApi} answers. */
  sealed interface OfSharedMemory extends Route {}

  /** Regions of shared memory; empty text stands for all. */
  record SharedMemoryStatus(String region) implements OfSharedMemory {}

  record RegisterSharedMemory(String region) implements OfSharedMemory {}

  record UnregisterSharedMemory(String region) implements OfSharedMemory {}

  /** Any path of the extension for a GPU's memory, which is not served. */
  record CudaSharedMemory() implements OfSharedMemory {}

  /** What a caller must be let do. */
  default Demand demand() {
    return switch (this) {
      case Live _, Ready _, Page _ -> Demand.NONE;
      case ServerMetadata _ -> Demand.ofAny("");
      case ModelMetadata(String model, String _) -> Demand.ofAny(model);
      case ModelReady(String model, String _) -> Demand.ofAny(model);
      case ModelConfiguration(String model, String _) -> Demand.ofAny(model);
      case Infer(String model, String _) -> Demand.of(Role.INFER, model);
      case Statistics(String model, String _) -> Demand.of(Role.OBSERVE, model);
      case Metrics _, OtherHosts _ -> Demand.of(Role.OBSERVE, Demand.ALL_MODELS);
      case State _, Samples _, Events _, Changes _, Workers _ -> Demand.of(Role.OBSERVE, "");
      case JobList _, ShowJob _ -> new Demand(Set.of(Role.INFER, Role.OBSERVE), Demand.ALL_MODELS);
      case SubmitJob _, RemoveJob _ -> Demand.of(Role.INFER, Demand.ALL_MODELS);
      case Index _, LogSettings _ -> Demand.ofObserver("");
      case TraceSettings(String model) -> Demand.ofObserver(model == null ? "" : model);
      case Versions(String model) -> Demand.ofObserver(model);
      case ChooseVersions(String model) -> Demand.of(Role.MANAGE, model);
      case Options(String model) -> Demand.ofObserver(model);
      case ChangeOptions(String model) -> Demand.of(Role.MANAGE, model);
      case ChangeTraceSettings(String model) ->
          Demand.of(Role.MANAGE, model == null ? Demand.ALL_MODELS : model);
      case SharedMemoryStatus _ -> Demand.ofObserver(Demand.ALL_MODELS);
      case ChangeLogSettings _,
          RegisterSharedMemory _,
          UnregisterSharedMemory _,
          CudaSharedMemory _ ->
          Demand.of(Role.MANAGE, Demand.ALL_MODELS);
      case Load(String model) -> Demand.of(Role.MANAGE, model);
      case Unload(String model) -> Demand.of(Role.MANAGE, model);
      case StoredVersion(String model, String _) -> Demand.ofObserver(model);
      case Upload(String model, String _) -> Demand.of(Role.MANAGE, model);
      case Delete(String model, String _) -> Demand.of(Role.MANAGE, model);
      case Recycle _ -> Demand.of(Role.MANAGE, Demand.ALL_MODELS);
    };
  }
}
