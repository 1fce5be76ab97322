package io.pipelane.lanes.execution;

import java.util.List;

/**
 * The state of a device's lanes at one moment.
 *
 * @param open lanes that runs are in, or wait for
 * @param inUse lanes that a run is in which goes on
 * @param stuck lanes that a run is in which was ended, and whose process stays
 * @param regionBytes what each lane's memory may be at present, open or not; as many as there can
 *     be
 * @param opened lanes opened since the start
 * @param grown times that a lane became larger since then, while a run was in it
 * @param shrunk times that others took memory that a lane had left
 */
public record LanesOverview(
    int open, int inUse, int stuck, List<Long> regionBytes, long opened, long grown, long shrunk) {
  /** Of a device without lanes. */
  public static final LanesOverview NONE = new LanesOverview(0, 0, 0, List.of(), 0, 0, 0);

  public LanesOverview {
    regionBytes = List.copyOf(regionBytes);
  }
}
