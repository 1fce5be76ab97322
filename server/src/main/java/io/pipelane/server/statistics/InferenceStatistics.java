package io.pipelane.server.statistics;

import io.pipelane.config.Status;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.observability.RequestTrace;
import io.pipelane.server.observability.RequestTracing;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The counters of every model version that is in service or has been asked for, since the start.
 * They stay when a version leaves service, so that no count falls, until the repository has it no
 * more. Safe for any thread.
 */
public final class InferenceStatistics {
  private static final Comparator<ModelCounters> BY_MODEL =
      Comparator.comparing((ModelCounters counters) -> counters.version().model())
          .thenComparingLong(counters -> counters.version().version());

  private final Map<ModelVersion, ModelCounters> models = new ConcurrentHashMap<>();
  private final @Nullable RequestTracing tracing;

  /** Of requests that are not traced. */
  public InferenceStatistics() {
    this(null);
  }

  /**
   * The same.
   *
   * @param tracing makes spans of requests; null for none
   */
  public InferenceStatistics(@Nullable RequestTracing tracing) {
    this.tracing = tracing;
  }

  /**
   * The counters of a version, of all its editions together; none of the counts is touched by
   * asking.
   */
  public ModelCounters of(ModelVersion version) {
    ModelVersion counted = version.anyEdition();
    ModelCounters counters = models.get(counted);
    return counters == null ? models.computeIfAbsent(counted, ModelCounters::new) : counters;
  }

  /** The counters of a version that has been asked or shown; asking this way adds none. */
  public Optional<ModelCounters> find(ModelVersion version) {
    return Optional.ofNullable(models.get(version.anyEdition()));
  }

  /** Begins the account of one request. */
  public RequestAccount begin(ModelVersion version) {
    return new RequestAccount(of(version), null);
  }

  /**
   * The same, traced where that is wanted.
   *
   * @param headers gives what the request's header of a name says, or null
   */
  public RequestAccount begin(ModelVersion version, Function<String, @Nullable String> headers) {
    RequestTrace trace = tracing == null ? null : tracing.begin(version, headers);
    return new RequestAccount(of(version), trace);
  }

  /**
   * Traces, where that is wanted, a request that no version answers; it counts nowhere.
   *
   * @param headers gives what the request's header of a name says, or null
   * @return what its answer says of its trace; null where it is not traced
   */
  public @Nullable String unanswered(
      String model, Function<String, @Nullable String> headers, Status reason) {
    RequestTrace trace = tracing == null ? null : tracing.begin(model, headers);
    if (trace == null) {
      return null;
    }
    trace.failed(reason);
    return trace.traceparent();
  }

  /** Whether requests may be traced at all. */
  public boolean traces() {
    return tracing != null;
  }

  /** The counters of versions that have been asked or shown, ordered by name and version. */
  public List<ModelCounters> all() {
    return models.values().stream().sorted(BY_MODEL).toList();
  }

  /**
   * The counters of what a repository has: of versions in service, asked or not, and of others that
   * have been asked. Those of what it has no more are given up.
   *
   * @param repository gives its versions, and whether each is in service
   * @return ordered by name and version
   */
  public List<ModelCounters> all(Supplier<Map<ModelVersion, Boolean>> repository) {
    Set<ModelVersion> before = Set.copyOf(models.keySet()); // What comes meanwhile stays.
    Map<ModelVersion, Boolean> there = repository.get();
    there.forEach(
        (version, isInService) -> {
          if (isInService) {
            ModelCounters _ = of(version);
          }
        });
    before.stream().filter(version -> !there.containsKey(version)).forEach(models::remove);
    return all();
  }
}
