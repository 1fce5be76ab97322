package io.pipelane.server.catalog;

import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.TritonConfig;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Tells owners what of their {@code config.pbtxt} has no effect. */
final class IgnoredKeys {
  private static final System.Logger LOG = System.getLogger(IgnoredKeys.class.getName());

  private IgnoredKeys() {}

  /** Logs it, once a model, as its versions share the file. */
  static void warn(List<Registered> found) {
    Map<String, TritonConfig> models = new TreeMap<>();
    found.forEach(version -> models.put(version.version().model(), version.declared()));
    models.forEach(
        (model, declared) ->
            notes(declared).forEach(note -> LOG.log(Level.WARNING, "{0}: {1}", model, note)));
  }

  /** The same among the notes of a version. */
  static List<String> notes(TritonConfig declared) {
    return declared.ignored().isEmpty()
        ? List.of()
        : List.of("of its config.pbtxt, " + declared.ignored() + " have no effect here");
  }
}
