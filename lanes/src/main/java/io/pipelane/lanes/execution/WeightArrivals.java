package io.pipelane.lanes.execution;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import java.util.List;
import java.util.function.Consumer;

/** The weights of one run, some of which may still be on their way. Belongs to the run's thread. */
public interface WeightArrivals {
  /** As many segments as there are. */
  int ALL = Integer.MAX_VALUE;

  /** Weights that are all there. */
  WeightArrivals PRESENT =
      new WeightArrivals() {
        @Override
        public void await(int segment) {}

        @Override
        public List<DeviceEvent> before(int segment) {
          return List.of();
        }

        @Override
        public void stalled(long nanos) {}
      };

  /**
   * Blocks until the weights of a segment, and of all before it, have arrived.
   *
   * @param segment counted from 0
   * @throws StatusException when they could not be brought in
   */
  void await(int segment);

  /**
   * For a device that waits by itself: what has to happen before a segment may compute, namely the
   * arrivals of its weights and of all before it that no earlier call has returned and that are not
   * there yet. Such a run calls {@link #await} with its last segment before it trusts its outputs.
   *
   * @throws StatusException when one of them is known not to have come
   */
  List<DeviceEvent> before(int segment);

  /**
   * How many segments a device that is given work ahead of its time may be given at once, as what
   * it has got cannot be stopped; {@link #ALL} for a run that comes to its end.
   */
  default int segmentsAhead() {
    return ALL;
  }

  /**
   * The run is about to compute a segment, whose weights are there or on their way, and computes no
   * other; blocks while something more urgent computes in its place. It keeps its memory. Devices
   * that are given work ahead ask only where {@link #segmentsAhead} says how far ahead, and then
   * with the first segment also before each piece of the inputs that they bring in.
   *
   * @throws StatusException to end the run, as nobody wants it any more
   */
  default void giveWay(int segment) {}

  /**
   * The run is about to wait for a process to compute in, which may have to be started first, and
   * lets others compute until {@link #computesElsewhere}. It keeps its memory.
   */
  default void awaitsProcess() {}

  /**
   * The run is about to compute in another process, where nobody can ask {@link #giveWay}.
   *
   * @param word stops or ends it there instead, until what is returned is closed
   * @throws StatusException to end the run before it computes there
   */
  default Elsewhere computesElsewhere(StopWord word) {
    return () -> {};
  }

  /** The time that a run spends in another process. */
  @FunctionalInterface
  interface Elsewhere extends AutoCloseable {
    /** The run's answer is there, and neither it nor its session computes anything more. */
    default void computed() {}

    /** The run is over there; the stop word is used no longer. */
    @Override
    void close();
  }

  /**
   * The run is about to compute on its own thread, where it can be ended between two gates.
   *
   * @param end has it fail soon, as nobody wants it any more, with a reason; called on any thread,
   *     and no more once what is returned is closed; returns at once
   */
  default Here computesHere(Consumer<StatusException> end) {
    return () -> {};
  }

  /** The time in which a run can be ended on its own thread. */
  @FunctionalInterface
  interface Here extends AutoCloseable {
    /** The run has ended. */
    @Override
    void close();
  }

  /** Tells how long a device that waits by itself has waited. */
  void stalled(long nanos);

  /**
   * Tells how long each segment computes, without what it waits for. Sessions say so once in a
   * while, when they have measured it, of runs with these shapes.
   *
   * @param segmentNanos by segment; the caller leaves it alone afterwards
   */
  default void computed(long[] segmentNanos) {}

  /**
   * How long runs with these shapes compute, without what they wait for, by what sessions of the
   * structure have told before, perhaps in another process; 0 where nobody knows.
   */
  default long usualNanos() {
    return 0;
  }
}
