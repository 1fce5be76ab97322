package io.pipelane.modelstore;

import java.util.Comparator;

/**
 * The identity of what an owner registers: {@code <repository>/<model>/<version>/}.
 *
 * @param edition which content of that folder, counted from 0 since the version last came into
 *     service: while one content is replaced by another both are registered. No client sees it
 */
public record ModelVersion(String model, long version, int edition)
    implements Comparable<ModelVersion> {
  private static final Comparator<ModelVersion> ORDER =
      Comparator.comparing(ModelVersion::model)
          .thenComparingLong(ModelVersion::version)
          .thenComparingInt(ModelVersion::edition);

  public ModelVersion {
    if (version < 1) {
      throw new IllegalArgumentException("versions are positive integers: " + version);
    }
  }

  /** A version as clients know it, whose content is its first. */
  public ModelVersion(String model, long version) {
    this(model, version, 0);
  }

  /** The same with its next content. */
  public ModelVersion nextEdition() {
    return new ModelVersion(model, version, edition + 1);
  }

  /** The same as clients know it, whatever its content. */
  public ModelVersion anyEdition() {
    return edition == 0 ? this : new ModelVersion(model, version);
  }

  @Override
  public int compareTo(ModelVersion other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return model + "/" + version;
  }
}
