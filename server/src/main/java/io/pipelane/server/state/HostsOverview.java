package io.pipelane.server.state;

import java.util.List;

/**
 * A host's knowledge of the others.
 *
 * @param own its own name; empty while it is alone
 * @param registryReached whether it can tell others of itself, and hear of them
 * @param others by name
 */
public record HostsOverview(String own, boolean registryReached, List<Other> others) {
  /** Of a host that is alone. */
  public static final HostsOverview ALONE = new HostsOverview("", false, List.of());

  public HostsOverview {
    others = List.copyOf(others);
  }

  /** The state of another host, by which requests may go to it or not. */
  public enum State {
    READY,
    /** It could not be reached, and is left alone for a while. */
    SUSPECT,
    /** It has not answered in time, and is asked after all others for a while. */
    LATE,
    /** It takes no more requests. */
    LEAVING,
    /** Its name has not been found. */
    UNKNOWN
  }

  /**
   * Another host.
   *
   * @param waitMicros how long a request would wait for a lane there, as it said last
   * @param underWay requests that it has of this host
   */
  public record Other(
      String name, State state, int lanes, long waitMicros, int underWay, List<Model> models) {
    public Other {
      models = List.copyOf(models);
    }
  }

  /**
   * A version that another host answers for.
   *
   * @param stallMicros what a run there would wait for weights
   */
  public record Model(String name, long version, long stallMicros) {}
}
