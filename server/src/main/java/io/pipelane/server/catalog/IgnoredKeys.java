package io.pipelane.server.catalog;

import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.TritonConfig;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The messages that tell owners what of their {@code config.pbtxt} has no effect. */
public final class IgnoredKeys {
  private static final System.Logger LOG = System.getLogger(IgnoredKeys.class.getName());

  private static final String INSTANCES = "instance_group";

  private IgnoredKeys() {}

  /** Logs it. */
  public static void warn(String model, TritonConfig declared) {
    notes(declared).forEach(note -> LOG.log(Level.WARNING, "{0}: {1}", model, note));
  }

  /** Logs it, once a model, as its versions share the file. */
  static void warn(List<Registered> found) {
    Map<String, TritonConfig> models = new TreeMap<>();
    found.forEach(version -> models.put(version.version().model(), version.declared()));
    models.forEach(IgnoredKeys::warn);
  }

  /** The same among the notes of a version. */
  public static List<String> notes(TritonConfig declared) {
    List<String> notes = new ArrayList<>();
    List<String> others = new ArrayList<>(declared.ignored());
    if (others.remove(INSTANCES)) {
      notes.add(
          "its config.pbtxt asks for %d instances; there is one copy of a model's weights, and it"
                  .formatted(instances(declared))
              + " runs in every lane that is free, device.lanes at a time at most");
    }
    if (!others.isEmpty()) {
      notes.add("of its config.pbtxt, " + others + " have no effect here");
    }
    return notes;
  }

  /** A group that does not say how many has one. */
  private static int instances(TritonConfig declared) {
    return declared.message().getInstanceGroupList().stream()
        .mapToInt(group -> Math.max(1, group.getCount()) * Math.max(1, group.getGpusCount()))
        .sum();
  }
}
