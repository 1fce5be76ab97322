package io.pipelane.modelstore;

/** The identity of what an owner registers: {@code <repository>/<model>/<version>/}. */
public record ModelVersion(String model, long version) implements Comparable<ModelVersion> {
  public ModelVersion {
    if (version < 1) {
      throw new IllegalArgumentException("versions are positive integers: " + version);
    }
  }

  @Override
  public int compareTo(ModelVersion other) {
    int byName = model.compareTo(other.model);
    return byName != 0 ? byName : Long.compare(version, other.version);
  }

  @Override
  public String toString() {
    return model + "/" + version;
  }
}
