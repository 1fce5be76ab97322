package io.pipelane.lanes.cuda;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The lanes whose work keeps to a part of the device's multiprocessors. One of them computes at a
 * time.
 *
 * @param first the number of the first of them, in the order in which a device's lanes are made
 * @param percents of the multiprocessors, of it and those that follow it
 */
public record PartialLanes(int first, List<Integer> percents) {
  /** All have the whole device. */
  public static final PartialLanes NONE = new PartialLanes(0, List.of());

  private static final String SEPARATOR = "/";
  private static final String NO_WORD = "none";

  public PartialLanes {
    percents = List.copyOf(percents);
  }

  /** Whether there are any. */
  public boolean areAny() {
    return !percents.isEmpty();
  }

  public boolean contains(int lane) {
    return lane >= first && lane < first + percents.size();
  }

  /** What a lane keeps to, in percent; 100 for one that has the whole device. */
  public int percent(int lane) {
    return contains(lane) ? percents.get(lane - first) : CudaEphemeralRegion.WHOLE;
  }

  /** The percents as one word. */
  String percentsText() {
    return percents.isEmpty()
        ? NO_WORD
        : percents.stream().map(String::valueOf).collect(Collectors.joining(SEPARATOR));
  }

  /** Reads what {@link #percentsText} has written. */
  static PartialLanes of(int first, String percents) {
    return percents.equals(NO_WORD)
        ? new PartialLanes(first, List.of())
        : new PartialLanes(
            first, Arrays.stream(percents.split(SEPARATOR)).map(Integer::valueOf).toList());
  }
}
