package io.pipelane.server.hosts;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.catalog.ServedModel;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** The announcement of this host, as it is when asked. Used by one thread, but for leaving. */
final class LocalAnnouncement implements Supplier<String> {
  private static final System.Logger LOG = System.getLogger(LocalAnnouncement.class.getName());

  private final HostAddress address;
  private final String instance;
  private final ModelCatalog catalog;
  private final LocalLoad load;
  private volatile boolean leaving;
  private boolean warned;

  /**
   * Announces a host that stays.
   *
   * @param instance tells this start of the host from others
   */
  LocalAnnouncement(HostAddress address, String instance, ModelCatalog catalog, LocalLoad load) {
    this.address = address;
    this.instance = instance;
    this.catalog = catalog;
    this.load = load;
  }

  /** From now on it takes no more requests; on any thread. */
  void leave() {
    leaving = true;
  }

  @Override
  public String get() {
    boolean away = leaving || !load.isUsable();
    List<Entry> entries = away ? List.of() : catalog.index();
    List<OfferedModel> models = models(entries);
    return new Announcement(
            address,
            instance,
            away,
            load.lanes(),
            coarseMicros(load.waitNanos()),
            coarseMicros(load.runNanos()),
            models,
            coming(entries, Announcement.MOST_MODELS - models.size()))
        .write();
  }

  private static List<ModelVersion> coming(List<Entry> entries, int most) {
    return entries.stream()
        .filter(entry -> entry.state() == State.LOADING)
        .flatMap(entry -> entry.modelVersion().stream())
        .limit(most)
        .toList();
  }

  private List<OfferedModel> models(List<Entry> entries) {
    List<OfferedModel> models = new ArrayList<>();
    for (Entry entry : entries) {
      if (entry.state() != State.READY) {
        continue;
      }
      if (models.size() == Announcement.MOST_MODELS) {
        warnOfMany();
        break;
      }
      try {
        ModelVersion version = new ModelVersion(entry.name(), Long.parseLong(entry.version()));
        ServedModel model = catalog.resolve(entry.name(), entry.version());
        models.add(
            new OfferedModel(
                entry.name(),
                version.version(),
                model.keepsState(),
                coarseMicros(load.stallNanos(version)),
                model.content(),
                model.heedsTimeouts()));
      } catch (StatusException e) {
        // It has left since.
      }
    }
    return models;
  }

  private void warnOfMany() {
    if (!warned) {
      warned = true;
      LOG.log(
          Level.WARNING,
          "other hosts are told of the first {0} models only, by name",
          Announcement.MOST_MODELS);
    }
  }

  private static long coarseMicros(long nanos) {
    return Announcement.coarse(TimeUnit.NANOSECONDS.toMicros(nanos));
  }
}
