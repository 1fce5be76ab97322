package io.pipelane.lanes.process.channel;

import io.pipelane.config.Status;
import io.pipelane.lanes.ExportedSlots;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** What a server and a worker tell each other; each message has an answer of the other side. */
public sealed interface Message {
  /** The lane of sessions that any lane may run. */
  int NO_LANE = -1;

  /** Outputs of one run, at most. */
  int MAXIMUM_OUTPUTS = 1 << 12;

  void write(MessageWriter message);

  private static void writeOutputs(MessageWriter message, List<Integer> outputs) {
    message.number(outputs.size());
    outputs.forEach(message::number);
  }

  private static List<Integer> readOutputs(MessageReader message) {
    int count = message.count(MAXIMUM_OUTPUTS);
    List<Integer> outputs = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      outputs.add(message.count(MAXIMUM_OUTPUTS));
    }
    return outputs;
  }

  /** What a server says. */
  sealed interface ToWorker extends Message {}

  /** What a worker says. */
  sealed interface ToServer extends Message {}

  /**
   * Build a session; {@link Built} or {@link Failed} follows.
   *
   * @param session its number from now on
   * @param slots the range that its weights will lie in
   * @param description the descriptor of memory with a {@link SessionDescription}
   * @param limitBytes what its constants may take
   * @param lane the lane that it belongs to, or {@link #NO_LANE}
   * @param laneBytes what that lane's device memory may ever take
   */
  record Build(
      long session,
      ExportedSlots slots,
      int description,
      long descriptionBytes,
      long limitBytes,
      int lane,
      long laneBytes)
      implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(session).number(slots.range()).number(slots.offset()).number(slots.count());
      message.number(description).number(descriptionBytes).number(limitBytes);
      message.number(lane).number(laneBytes);
    }

    static Build read(MessageReader message) {
      return new Build(
          message.number(),
          new ExportedSlots(message.number(), message.size(), message.count(Integer.MAX_VALUE)),
          message.integer(),
          message.size(),
          message.size(),
          message.integer(),
          message.size());
    }
  }

  /** Close a session that nothing runs in; {@link Closed} follows. */
  record Close(long session) implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(session);
    }
  }

  /** Give up what a session can do without, between two runs of it; {@link Shrunk} follows. */
  record Shrink(long session) implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(session);
    }
  }

  /** Take such memory again that a session has been told to give up; {@link Closed} follows. */
  record CaptureAgain(long session) implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(session);
    }
  }

  /**
   * Give back host memory that the server has closed, of models that are gone; {@link Closed}
   * follows.
   */
  record Tidy() implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      // It says all there is to say.
    }
  }

  /**
   * See whether the device does anything for the worker, which ends if not; else {@link Closed}.
   */
  record Check() implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      // It says all there is to say.
    }
  }

  /**
   * Run a session in the channel's lane; {@link Ran} or {@link Failed} follows, {@link Grow} and
   * {@link Place} before it perhaps. Which of its weights have arrived is told by the channel's
   * signal.
   *
   * @param lane what the channel's lane has
   * @param inputs those that lie in the lane's host memory
   * @param transfers those that lie in the server's transfer memory, or in its states, which count
   *     on behind that
   * @param state where the number of a state lies, if the outputs become one
   * @param outputs indices of those wanted, in the order wanted
   * @param segmentsAhead how many segments the device is given at once; unless those are all, the
   *     channel's stop word may stop the run between two
   * @param arrivals what the device itself waits for, by segment
   */
  record Run(
      long session,
      LaneMemory lane,
      List<PlacedTensor> inputs,
      List<PlacedTensor> transfers,
      Optional<PlacedNumber> state,
      List<Integer> outputs,
      int segmentsAhead,
      List<NumberedArrival> arrivals)
      implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(session);
      lane.write(message);
      PlacedTensor.write(message, inputs);
      PlacedTensor.write(message, transfers);
      PlacedNumber.write(message, state);
      writeOutputs(message, outputs);
      message.number(segmentsAhead);
      NumberedArrival.write(message, arrivals);
    }

    static Run read(MessageReader message) {
      long session = message.number();
      LaneMemory lane = LaneMemory.read(message);
      List<PlacedTensor> inputs = PlacedTensor.read(message);
      List<PlacedTensor> transfers = PlacedTensor.read(message);
      Optional<PlacedNumber> state = PlacedNumber.read(message);
      List<Integer> outputs = readOutputs(message);
      return new Run(
          session,
          lane,
          inputs,
          transfers,
          state,
          outputs,
          message.count(Integer.MAX_VALUE),
          NumberedArrival.read(message));
    }
  }

  /**
   * Where an output goes: the answer to {@link Place}.
   *
   * @param offset in the server's transfer memory, or in its states, which count on behind that;
   *     {@link #IN_LANE} when it is to be left in the lane's host memory
   */
  record Placed(long offset) implements ToWorker {
    /** In neither. */
    public static final long IN_LANE = -1;

    @Override
    public void write(MessageWriter message) {
      message.number(offset);
    }
  }

  /** The lane's limit is so much now: the answer to {@link Grow}; as before when it cannot grow. */
  record Grown(long limitBytes) implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(limitBytes);
    }
  }

  /**
   * Run a session on numbers made up and weights of zero, so that the first run of these shapes
   * finds done what takes long the first time; {@link WarmedUp} or {@link Failed} follows.
   *
   * @param lane the lane that the session belongs to, or {@link #NO_LANE}
   * @param memory what that lane has, or any; host memory that is opened is so for the runs to come
   * @param captured whether elsewhere such runs are captured, after a check with true weights
   * @param inputs wherever they lie, in the order of their indices
   * @param outputs indices of those wanted
   */
  record WarmUp(
      long session,
      int lane,
      LaneMemory memory,
      boolean captured,
      List<PlacedTensor> inputs,
      List<Integer> outputs)
      implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(session).number(lane);
      memory.write(message);
      message.number(captured ? 1 : 0);
      PlacedTensor.write(message, inputs);
      writeOutputs(message, outputs);
    }

    /** The same, where the lane's host memory is opened by a descriptor, or none. */
    public WarmUp opening(int descriptor) {
      return new WarmUp(session, lane, memory.openedBy(descriptor), captured, inputs, outputs);
    }

    /** The same, of runs that are captured elsewhere, or not. */
    public WarmUp captured(boolean so) {
      return new WarmUp(session, lane, memory, so, inputs, outputs);
    }

    static WarmUp read(MessageReader message) {
      return new WarmUp(
          message.number(),
          message.integer(),
          LaneMemory.read(message),
          message.count(1) == 1,
          PlacedTensor.read(message),
          readOutputs(message));
    }
  }

  /**
   * A session is built.
   *
   * @param constantBytes what its constants take
   * @param heldBytes device memory that it holds beside them
   */
  record Built(long constantBytes, long heldBytes) implements ToServer {
    @Override
    public void write(MessageWriter message) {
      message.number(constantBytes).number(heldBytes);
    }
  }

  /** A session has run as {@link WarmUp} says. */
  record WarmedUp() implements ToServer {
    @Override
    public void write(MessageWriter message) {
      // It says all there is to say.
    }
  }

  /**
   * A session has given up what it can do without.
   *
   * @param heldBytes device memory that it holds still, beside its constants
   */
  record Shrunk(long heldBytes) implements ToServer {
    @Override
    public void write(MessageWriter message) {
      message.number(heldBytes);
    }
  }

  /** A session is closed; host memory has been given back; the device lives. */
  record Closed() implements ToServer {
    @Override
    public void write(MessageWriter message) {
      // It says all there is to say.
    }
  }

  /** What a session's owner should know of how it runs, where that may have changed. */
  record Noted(List<String> notes) implements ToServer {
    /** As many are told. */
    private static final int MAXIMUM = 32;

    @Override
    public void write(MessageWriter message) {
      int count = Math.min(notes.size(), MAXIMUM);
      message.number(count);
      notes.subList(0, count).forEach(message::text);
    }

    static Noted read(MessageReader message) {
      int count = message.count(MAXIMUM);
      List<String> notes = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        notes.add(message.text());
      }
      return new Noted(notes);
    }
  }

  /** A run needs room for so much beyond its lane's limit, having reached a peak. */
  record Grow(long bytes, long peakBytes) implements ToServer {
    @Override
    public void write(MessageWriter message) {
      message.number(bytes).number(peakBytes);
    }
  }

  /**
   * A run will have a large output, or one that may become a state, and asks where to write it;
   * {@link Placed} follows.
   *
   * @param position among those wanted; asked for once
   * @param output whose offset says nothing yet
   */
  record Place(int position, PlacedTensor output) implements ToServer {
    @Override
    public void write(MessageWriter message) {
      message.number(position);
      output.write(message);
    }

    static Place read(MessageReader message) {
      return new Place(message.count(MAXIMUM_OUTPUTS), PlacedTensor.readOne(message));
    }
  }

  /**
   * A run has its outputs, which lie in the lane's host memory until the next, or where {@link
   * Placed} has said.
   *
   * @param peakBytes how far its allocations reached
   * @param stallNanos how long it waited for weights
   * @param heldBytes device memory that the session holds beside its constants
   * @param segments how long they computed, if this run was measured
   * @param goesOn whether the session still has work of its own, and {@link Finished} follows
   */
  record Ran(
      long peakBytes,
      long stallNanos,
      long heldBytes,
      SegmentTimes segments,
      boolean goesOn,
      List<PlacedTensor> outputs)
      implements ToServer {
    /** The same, which is shorter; groups go by the times of other runs. */
    public Ran withoutTimes() {
      return new Ran(peakBytes, stallNanos, heldBytes, SegmentTimes.NONE, goesOn, outputs);
    }

    @Override
    public void write(MessageWriter message) {
      message.number(peakBytes).number(stallNanos).number(heldBytes);
      segments.write(message);
      message.number(goesOn ? 1 : 0);
      PlacedTensor.write(message, outputs);
    }

    static Ran read(MessageReader message) {
      return new Ran(
          message.size(),
          message.size(),
          message.size(),
          SegmentTimes.read(message),
          message.count(1) == 1,
          PlacedTensor.read(message));
    }
  }

  /**
   * A session has ended the work of its own that followed a run's outputs.
   *
   * @param captured whether runs of these shapes are captured now
   * @param segments how long they compute, if that work has measured it
   */
  record Finished(long peakBytes, long heldBytes, boolean captured, SegmentTimes segments)
      implements ToServer {
    @Override
    public void write(MessageWriter message) {
      message.number(peakBytes).number(heldBytes).number(captured ? 1 : 0);
      segments.write(message);
    }

    static Finished read(MessageReader message) {
      return new Finished(
          message.size(), message.size(), message.count(1) == 1, SegmentTimes.read(message));
    }
  }

  /**
   * A run or a building has ended without a result.
   *
   * @param refusedBytes the largest allocation that was refused, if that is why; else 0
   */
  record Failed(Status status, long refusedBytes, long peakBytes, String reason)
      implements ToServer {
    @Override
    public void write(MessageWriter message) {
      message.text(status.name()).number(refusedBytes).number(peakBytes).text(reason);
    }

    static Failed read(MessageReader message) {
      return new Failed(status(message.text()), message.size(), message.size(), message.text());
    }

    private static Status status(String name) {
      return Arrays.stream(Status.values())
          .filter(status -> status.name().equals(name))
          .findFirst()
          .orElseThrow(() -> new ProtocolException("status " + name));
    }
  }
}
