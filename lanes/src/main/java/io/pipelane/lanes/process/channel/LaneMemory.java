package io.pipelane.lanes.process.channel;

/**
 * A lane's memory as a worker is told of it.
 *
 * @param descriptor what its host memory is opened by, or {@link #NOT_OPENED}
 * @param hostBytes what that may ever take
 * @param limitBytes what of the lane may be used
 */
public record LaneMemory(int descriptor, long hostBytes, long limitBytes) {
  /** Stands for the descriptor of host memory that there is none of, or that is left alone. */
  public static final int NOT_OPENED = -1;

  /** Whether there is host memory to be opened. */
  public boolean isOpened() {
    return descriptor != NOT_OPENED;
  }

  /** The same, opened by a descriptor. */
  LaneMemory openedBy(int other) {
    return new LaneMemory(other, hostBytes, limitBytes);
  }

  void write(MessageWriter message) {
    message.number(descriptor).number(hostBytes).number(limitBytes);
  }

  static LaneMemory read(MessageReader message) {
    return new LaneMemory(message.integer(), message.size(), message.size());
  }
}
