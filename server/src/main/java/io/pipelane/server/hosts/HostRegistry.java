package io.pipelane.server.hosts;

import java.util.Map;
import java.util.function.Supplier;

/**
 * The registry in which hosts announce themselves to each other; each entry vanishes with its host.
 */
interface HostRegistry extends AutoCloseable {
  /**
   * Begins, and returns at once; does not wait for the registry to be reached.
   *
   * @param word what this host has to say of itself, asked again and again
   * @param listener told what hosts say; both on one thread of the registry's
   */
  void start(Supplier<String> word, Listener listener);

  /** Takes back what this host has said; blocks for some seconds at most. */
  @Override
  void close();

  /** The listener to what hosts say, by their names, this host's own included. */
  interface Listener {
    /**
     * Everything that is said now, by a registry that has come into reach; a host that is not there
     * has a lease's time to say something.
     */
    void all(Map<String, String> announcements);

    /** A host has said something, in place of what it said before. */
    void said(String host, String announcement);

    /** A host has taken its word back, or has not renewed its lease. */
    void gone(String host);

    /** Time has passed, whether or not anything was said. */
    void turn();

    /** Whether the registry is in reach; what was heard last stays meanwhile. */
    void reached(boolean inReach);
  }
}
