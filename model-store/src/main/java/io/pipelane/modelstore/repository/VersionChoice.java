package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * An owner's choice of a model's versions while it was served, above what its folder says.
 *
 * @param served which versions are served; empty for what the folder says
 * @param standard the version, or the label, that answers requests that name neither; empty for the
 *     highest version that is READY
 * @param labels versions by the names that clients may give instead of their numbers
 */
public record VersionChoice(
    Optional<ServedVersions> served, String standard, Map<String, Long> labels) {
  /** Nothing is chosen. */
  public static final VersionChoice NONE = new VersionChoice(Optional.empty(), "", Map.of());

  /** What names of labels have. */
  public static final String LABEL_FORM =
      "a letter, then letters, digits, . _ and -, 64 characters at most";

  private static final int MOST_LABELS = 64;
  private static final Pattern LABEL = Pattern.compile("[A-Za-z][A-Za-z0-9._-]{0,63}");

  public VersionChoice {
    labels = Map.copyOf(labels);
    if (labels.size() > MOST_LABELS) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "%d labels are more than a model may have, %d".formatted(labels.size(), MOST_LABELS));
    }
    for (String label : labels.keySet()) {
      if (!isLabel(label)) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "\"%s\" is no name of a label: %s".formatted(shortened(label), LABEL_FORM));
      }
    }
  }

  /** Whether a text has the form of a label, which no version's number has. */
  public static boolean isLabel(String text) {
    return LABEL.matcher(text).matches();
  }

  private static String shortened(String text) {
    return text.length() > 64 ? text.substring(0, 64) + "..." : text;
  }

  /** Whether nothing is chosen. */
  public boolean isNone() {
    return equals(NONE);
  }

  /** The same with other versions served; empty for what the folder says. */
  public VersionChoice serving(Optional<ServedVersions> other) {
    return new VersionChoice(other, standard, labels);
  }

  /** The same with another version, or label, for requests that name neither. */
  public VersionChoice withStandard(String other) {
    return new VersionChoice(served, other, labels);
  }

  /** The same with a label that stands for a version. */
  public VersionChoice with(String label, long version) {
    Map<String, Long> changed = new TreeMap<>(labels);
    changed.put(label, version);
    return new VersionChoice(served, standard, changed);
  }

  /** The same without a label. */
  public VersionChoice without(String label) {
    Map<String, Long> changed = new TreeMap<>(labels);
    changed.remove(label);
    return new VersionChoice(served, standard, changed);
  }

  /**
   * Which of the versions that are there are served, ascending: what is named by a label, or
   * answers requests that name none, is so in any case.
   */
  List<Long> among(List<Long> versions, TritonConfig declared) {
    List<Long> chosen =
        served.map(which -> which.among(versions)).orElseGet(() -> declared.served(versions));
    return versions.stream()
        .filter(version -> chosen.contains(version) || isNamed(version))
        .sorted()
        .toList();
  }

  private boolean isNamed(long version) {
    return labels.containsValue(version) || standard.equals(Long.toString(version));
  }

  /** What a version is chosen for, in words; none for one that is not. */
  public List<String> uses(long version) {
    List<String> uses = new ArrayList<>();
    new TreeMap<>(labels)
        .forEach(
            (label, of) -> {
              if (of == version) {
                uses.add("label \"" + label + "\" stands for it");
              }
            });
    boolean answers =
        standard.equals(Long.toString(version))
            || Long.valueOf(version).equals(labels.get(standard));
    if (answers) {
      uses.add("it answers requests that name no version");
    }
    return uses;
  }
}
