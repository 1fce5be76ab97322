package io.pipelane.server.statistics;

import io.pipelane.modelstore.ModelVersion;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The counters of every model version that has been asked for, since the start. They stay when a
 * version leaves service, so that no count ever falls. Safe for any thread.
 */
public final class InferenceStatistics {
  private static final Comparator<ModelCounters> BY_MODEL =
      Comparator.comparing((ModelCounters counters) -> counters.version().model())
          .thenComparingLong(counters -> counters.version().version());

  private final Map<ModelVersion, ModelCounters> models = new ConcurrentHashMap<>();

  /** The counters of a version; none of the counts is touched by asking. */
  public ModelCounters of(ModelVersion version) {
    ModelCounters counters = models.get(version);
    return counters == null ? models.computeIfAbsent(version, ModelCounters::new) : counters;
  }

  /** Begins the account of one request. */
  public RequestAccount begin(ModelVersion version) {
    return new RequestAccount(of(version));
  }

  /** Those that exist, ordered by name and version. */
  public List<ModelCounters> all() {
    return models.values().stream().sorted(BY_MODEL).toList();
  }
}
