package io.pipelane.lanes.process.channel;

import io.pipelane.config.Status;
import io.pipelane.lanes.cpu.CpuExport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What a server and a worker tell each other; each message has an answer of the other side. */
public sealed interface Message {
  /** Outputs of one run, at most. */
  int MAXIMUM_OUTPUTS = 1 << 12;

  void write(MessageWriter message);

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
   */
  record Build(
      long session, CpuExport.Slots slots, int description, long descriptionBytes, long limitBytes)
      implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(session).number(slots.range()).number(slots.offset()).number(slots.count());
      message.number(description).number(descriptionBytes).number(limitBytes);
    }

    static Build read(MessageReader message) {
      return new Build(
          message.number(),
          new CpuExport.Slots(message.number(), message.size(), message.count(Integer.MAX_VALUE)),
          message.integer(),
          message.size(),
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

  /**
   * Run a session in the channel's lane; {@link Ran} or {@link Failed} follows, {@link Grow} before
   * it perhaps. Which of its weights have arrived is told by the channel's signal.
   *
   * @param region the descriptor of the lane's memory
   * @param limitBytes what of it may be used
   * @param outputs indices of those wanted, in the order wanted
   */
  record Run(
      long session,
      int region,
      long regionBytes,
      long limitBytes,
      List<PlacedTensor> inputs,
      List<Integer> outputs)
      implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(session).number(region).number(regionBytes).number(limitBytes);
      PlacedTensor.write(message, inputs);
      message.number(outputs.size());
      outputs.forEach(message::number);
    }

    static Run read(MessageReader message) {
      long session = message.number();
      int region = message.integer();
      long regionBytes = message.size();
      long limitBytes = message.size();
      List<PlacedTensor> inputs = PlacedTensor.read(message);
      int count = message.count(MAXIMUM_OUTPUTS);
      List<Integer> outputs = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        outputs.add(message.count(MAXIMUM_OUTPUTS));
      }
      return new Run(session, region, regionBytes, limitBytes, inputs, outputs);
    }
  }

  /** The lane's limit is so much now: the answer to {@link Grow}; as before when it cannot grow. */
  record Grown(long limitBytes) implements ToWorker {
    @Override
    public void write(MessageWriter message) {
      message.number(limitBytes);
    }
  }

  /** A session is built and its constants take so much. */
  record Built(long constantBytes) implements ToServer {
    @Override
    public void write(MessageWriter message) {
      message.number(constantBytes);
    }
  }

  /** A session is closed. */
  record Closed() implements ToServer {
    @Override
    public void write(MessageWriter message) {
      // It says all there is to say.
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
   * A run has ended, its outputs lie in the lane until the next.
   *
   * @param peakBytes how far its allocations reached
   * @param stallNanos how long it waited for weights
   */
  record Ran(long peakBytes, long stallNanos, List<PlacedTensor> outputs) implements ToServer {
    @Override
    public void write(MessageWriter message) {
      message.number(peakBytes).number(stallNanos);
      PlacedTensor.write(message, outputs);
    }

    static Ran read(MessageReader message) {
      return new Ran(message.size(), message.size(), PlacedTensor.read(message));
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
