package io.pipelane.server.hosts;

/**
 * A version that a host answers for.
 *
 * @param keepsState whether its requests depend on those before them
 * @param stallMicros what a run there would wait for weights if it began now
 * @param content the beginning of its content's hash; empty where the host does not say
 * @param heedsTimeouts whether a request's own timeout counts, whatever it is
 */
record OfferedModel(
    String name,
    long version,
    boolean keepsState,
    long stallMicros,
    String content,
    boolean heedsTimeouts) {
  private static final int LONGEST_CONTENT = 12;

  OfferedModel {
    content = content.substring(0, Math.min(LONGEST_CONTENT, content.length()));
  }

  /** A version whose owner leaves timeouts to requests. */
  OfferedModel(String name, long version, boolean keepsState, long stallMicros, String content) {
    this(name, version, keepsState, stallMicros, content, true);
  }

  /** A version of whose content nobody has said anything. */
  OfferedModel(String name, long version, boolean keepsState, long stallMicros) {
    this(name, version, keepsState, stallMicros, "");
  }

  /** Whether it has, as far as anybody has said, a content by its whole hash or the beginning. */
  boolean mayBe(String other) {
    return content.isEmpty() || other.isEmpty() || other.startsWith(content);
  }
}
