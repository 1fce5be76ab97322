package io.pipelane.lanes.cuda;

/**
 * Which lane's work keeps to a part of the device's multiprocessors.
 *
 * @param lane its number, in the order in which a device's lanes are made
 * @param percent of the multiprocessors
 */
public record PartialLane(int lane, int percent) {
  /** All have the whole device. */
  public static final PartialLane NONE = new PartialLane(-1, 100);
}
