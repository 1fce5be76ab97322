package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.HostRegion;
import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.LaneMemory;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.NumberedArrival;
import io.pipelane.lanes.process.channel.PlacedNumber;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.SegmentTimes;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One run in a worker, as its lane's thread in the server sees it. */
final class RemoteRun implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(RemoteRun.class.getName());

  /** A device's clock is not the host's: its times may be as many times as long, at most. */
  private static final long CLOCKS_APART = 2;

  private final RemoteModel model;
  private final Invocation invocation;
  private final SharedLane lane;
  private final HostRegion host;
  private final MemoryTarget.Growth growth;
  private final WeightArrivals weights;
  private final SharedPlaces shared;
  private final List<Integer> wanted;
  private final List<PlacedTensor> inputs = new ArrayList<>();
  private final List<PlacedTensor> transfers = new ArrayList<>();
  private final List<Long> allocated = new ArrayList<>();

  /** By the outputs' positions among those wanted. */
  private final Map<Integer, GivenPlace> givenPlaces = new HashMap<>();

  private boolean answered;
  private ExpectedTime time = new ExpectedTime();
  private long awakeNanos;
  private long beginNanos;
  private @Nullable List<String> notes;
  private @Nullable RuntimeException growthFailure;
  private @Nullable RuntimeException placeFailure;
  private boolean captured;
  private boolean finished;
  private @Nullable Blame blameAfterAnswer;

  /**
   * A place that an output was given while the run computed.
   *
   * @param output offset in shared memory, or {@link Message.Placed#IN_LANE}: it is to be copied
   */
  private record GivenPlace(PlacedTensor output, MemorySegment memory) {
    boolean isWritten() {
      return output.offset() != Message.Placed.IN_LANE;
    }
  }

  RemoteRun(
      RemoteModel model,
      Invocation invocation,
      SharedLane lane,
      MemoryTarget.Growth growth,
      WeightArrivals weights,
      SharedPlaces shared) {
    this.model = model;
    this.invocation = invocation;
    this.lane = lane;
    this.host = lane.host();
    this.growth = growth;
    this.weights = weights;
    this.shared = shared;
    this.wanted = invocation.outputs().stream().map(model::output).toList();
  }

  /**
   * Stays awake around the run's end.
   *
   * @param expected when that is, by earlier runs
   * @param aroundNanos how long before and after
   */
  void expect(ExpectedTime expected, long aroundNanos) {
    time = expected;
    awakeNanos = aroundNanos;
  }

  /** Has the worker wake up, if that is worth it, while the run is prepared here. */
  void announce(WorkerProcess worker) {
    if (awakeNanos > 0) {
      worker.lane(host.lane()).rouse();
    }
  }

  /** What the worker has told of its session, if that has changed. */
  Optional<List<String>> notes() {
    return Optional.ofNullable(notes);
  }

  /** Whether the worker captures such runs from now on. */
  boolean isCaptured() {
    return captured;
  }

  /** Whether the session has done, and survived, work of its own after the run's answer. */
  boolean isFinished() {
    return finished;
  }

  /** What that work's worker may have been lost for, if it was. */
  Optional<Blame> blameAfterAnswer() {
    return Optional.ofNullable(blameAfterAnswer);
  }

  /** How a worker that stands by would do the same, once it has been done. */
  Message.WarmUp repetition(KnownSession session) {
    List<PlacedTensor> anywhere =
        Stream.concat(inputs.stream(), transfers.stream())
            .map(input -> input.at(0))
            .sorted(Comparator.comparingInt(PlacedTensor::index))
            .toList();
    return new Message.WarmUp(
        session.number(),
        session.lane(),
        memory(LaneMemory.NOT_OPENED),
        captured,
        anywhere,
        wanted);
  }

  private LaneMemory memory(int descriptor) {
    return new LaneMemory(descriptor, host.maximumBytes(), lane.limitBytes());
  }

  /**
   * Runs in a worker that has the session. Small outputs are placed when nothing can fail any more;
   * large ones may be before, as the device writes them there.
   *
   * @param hangTimeout how long it may take from one gate to the next
   * @return what the session holds there beside its constants; empty where the run has not come to
   *     its end, and is to begin anew, as the worker is being replaced
   */
  OptionalLong in(WorkerProcess worker, long session, Duration hangTimeout) {
    placeInputs();
    ChannelEnd end = worker.lane(host.lane());
    try (ArrivalPublisher arrivals =
        new ArrivalPublisher(weights, model.segments(), end.arrivals())) {
      List<NumberedArrival> numbered = arrivals.numbered();
      boolean cold = !numbered.isEmpty();
      Conversation conversation =
          new Conversation(
              worker,
              end,
              time.patience(cold, hangTimeout),
              () -> arrivals.isUnderWay() || end.go().isHeld());
      Message.Run run =
          new Message.Run(
              session,
              memory(host.descriptor()),
              inputs,
              transfers,
              invocation.stateNumber().map(this::placed),
              wanted,
              weights.segmentsAhead(),
              numbered);
      try {
        RemoteStop stop = new RemoteStop(end.go(), run.segmentsAhead() != WeightArrivals.ALL);
        return switch (carriedOut(run, cold, conversation, stop, worker)) {
          case Message.Ran ran -> {
            if (!stop.hasHeldBack()) {
              time.took(cold, System.nanoTime() - beginNanos);
            }
            try {
              take(ran);
            } catch (RuntimeException | Error e) { // The channel's next user is not to hear of it.
              long _ = ran.goesOn() ? finish(ran, conversation, worker) : 0;
              throw e;
            }
            if (ran.goesOn()) {
              invocation.placed();
            }
            yield OptionalLong.of(
                ran.goesOn() ? finish(ran, conversation, worker) : ran.heldBytes());
          }
          case Message.Failed failed
              when failed.status() == Status.CANCELLED
                  && worker.endsRuns()
                  && stop.endReason() == null -> {
            reached(failed.peakBytes());
            yield OptionalLong.empty();
          }
          case Message.Failed failed -> throw failure(failed, arrivals, stop.endReason());
          case Message.ToServer other -> throw new ProtocolException("it answered " + other);
        };
      } catch (ProtocolException e) {
        throw worker.violated(e);
      }
    }
  }

  /** Has the worker run, to its answer; it may be held back, or ended, meanwhile. */
  private Message.ToServer carriedOut(
      Message.Run run,
      boolean cold,
      Conversation conversation,
      RemoteStop stop,
      WorkerProcess worker) {
    stop.begin();
    if (worker.endsRuns()) { // Those under way were told so; whether this one was nobody knows.
      stop.endForWorker();
    }
    try (WeightArrivals.Elsewhere there = weights.computesElsewhere(stop)) {
      beginNanos = System.nanoTime(); // It may have waited for its turn until now.
      expectEnd(conversation, cold);
      conversation.say(run);
      Message.ToServer answer = awaitEnd(conversation);
      if (answer instanceof Message.Ran ran && !ran.goesOn()) {
        there.computed();
      }
      return answer;
    } finally {
      stop.begin();
    }
  }

  private void expectEnd(Conversation conversation, boolean cold) {
    long nanos = time.nanos(cold);
    if (nanos > 0 && awakeNanos > 0) {
      conversation.expect(nanos, awakeNanos);
    }
  }

  /** Waits for what the session does once its run is answered; whatever that is, it is. */
  private long finish(Message.Ran ran, Conversation conversation, WorkerProcess worker) {
    try {
      return switch (awaitEnd(conversation)) {
        case Message.Finished(
                long peakBytes,
                long heldBytes,
                boolean now,
                SegmentTimes segments) -> {
          reached(peakBytes);
          tell(segments);
          captured = now;
          finished = true;
          yield heldBytes;
        }
        case Message.ToServer other -> throw new ProtocolException("it answered " + other);
      };
    } catch (ProtocolException e) {
      requireNotStuck(worker.violated(e));
    } catch (WorkerLostException | WorkerStuckException e) {
      requireNotStuck(e);
    }
    return ran.heldBytes();
  }

  /** The answer is there; a worker that is gone touches nothing that the run was lent. */
  private void requireNotStuck(RuntimeException loss) {
    switch (loss) {
      case WorkerLostException lost -> blameAfterAnswer = lost.blame();
      case WorkerStuckException stuck -> {
        blameAfterAnswer = stuck.blame();
        throw stuck;
      }
      default -> throw loss;
    }
  }

  private void placeInputs() {
    // Host memory that is not the lane's own is as large as it will ever be.
    MemoryTarget target =
        new MemoryTarget.Ephemeral(host, host.equals(lane) ? growth : bytes -> false);
    for (InputTensor input : invocation.inputs()) {
      MemorySegment data = input.data();
      OptionalLong there = shared.offsetOf(data);
      if (there.isPresent()) {
        transfers.add(placed(input, there.getAsLong()));
        continue;
      }
      long address = target.allocate(data.byteSize());
      if (address == 0) {
        throw new OutOfDeviceMemoryException(data.byteSize());
      }
      allocated.add(address);
      long offset = address - host.address();
      host.at(offset, data.byteSize()).copyFrom(data);
      inputs.add(placed(input, offset));
    }
  }

  private PlacedNumber placed(StateNumber state) {
    return new PlacedNumber(shared.offsetOf(state.word()).orElseThrow(), state.number());
  }

  private PlacedTensor placed(InputTensor input, long offset) {
    return new PlacedTensor(
        model.input(input.name()), input.type(), input.shape(), offset, input.data().byteSize());
  }

  /** Gives the worker what it asks for, a larger lane or a place, and hears its notes. */
  private Message.ToServer awaitEnd(Conversation conversation) {
    while (true) {
      switch (conversation.listen()) {
        case Message.Noted(List<String> said) -> notes = said;
        case Message.Grow(long bytes, long peakBytes) -> {
          grow(bytes, peakBytes);
          conversation.say(new Message.Grown(lane.limitBytes()));
        }
        case Message.Place(int position, PlacedTensor output) ->
            conversation.say(new Message.Placed(place(position, output)));
        case Message.ToServer answer -> {
          return answer;
        }
      }
    }
  }

  private void grow(long bytes, long peakBytes) {
    reached(peakBytes);
    if (bytes <= lane.maximumBytes()) {
      try {
        boolean _ = growth.grow(bytes); // The limit says whether it did.
      } catch (RuntimeException e) { // The worker waits for an answer, and fails for want of it.
        growthFailure = e;
      }
    }
  }

  /** Where in shared memory an output goes; it is small enough to be there. */
  private long place(int position, PlacedTensor output) {
    if (answered
        || position >= wanted.size()
        || givenPlaces.containsKey(position)
        || output.isString()) {
      throw new ProtocolException("it asks for a place for " + output);
    }
    model.requireOutput(output, wanted.get(position));
    boolean mayBeState = invocation.stateNumber().isPresent();
    if (output.byteSize() > shared.transferMemory().byteSize() && !mayBeState) {
      return Message.Placed.IN_LANE;
    }
    try {
      MemorySegment memory = placeOf(position, output);
      long offset = shared.offsetOf(memory).orElse(Message.Placed.IN_LANE);
      givenPlaces.put(position, new GivenPlace(output.at(offset), memory));
      return offset;
    } catch (RuntimeException | Error e) { // Whatever it is, the worker goes on to write others.
      placeFailure = e instanceof RuntimeException failure ? failure : null;
      return Message.Placed.IN_LANE; // It is asked for again at the end, and may fail then.
    }
  }

  private MemorySegment placeOf(int position, PlacedTensor output) {
    String name = invocation.outputs().get(position);
    return invocation.place(name, output.type(), output.shape(), output.byteSize());
  }

  /** Where this process copies an output to: into no device's own memory, unless it is a state. */
  private MemorySegment hostPlaceOf(int position, PlacedTensor output) {
    if (!shared.states().areOnDevice() || invocation.stateNumber().isPresent()) {
      return placeOf(position, output);
    }
    String name = invocation.outputs().get(position);
    return invocation.placeOnHost(name, output.type(), output.shape(), output.byteSize());
  }

  private void reached(long peakBytes) {
    if (peakBytes > lane.limitBytes()) {
      throw new ProtocolException(
          "it took %d bytes of a lane of %d".formatted(peakBytes, lane.limitBytes()));
    }
    lane.reached(peakBytes);
  }

  private RuntimeException failure(
      Message.Failed failed, ArrivalPublisher arrivals, @Nullable StatusException ended) {
    reached(failed.peakBytes());
    if (arrivals.failedToArrive()) {
      weights.await(model.segments() - 1); // Throws what they did not come for.
    }
    if (growthFailure != null) {
      return growthFailure;
    }
    if (ended != null && failed.status() == Status.CANCELLED) {
      return ended;
    }
    if (placeFailure != null) { // What went to the lane instead may be what it has no room for.
      return placeFailure;
    }
    return failed.refusedBytes() > 0
        ? new OutOfDeviceMemoryException(failed.refusedBytes())
        : new StatusException(failed.status(), failed.reason());
  }

  private void take(Message.Ran ran) {
    answered = true;
    reached(ran.peakBytes());
    weights.await(model.segments() - 1);
    weights.stalled(ran.stallNanos());
    tell(ran.segments());
    List<PlacedTensor> outputs = ran.outputs();
    if (outputs.size() != wanted.size()) {
      throw new ProtocolException("it has %d outputs".formatted(outputs.size()));
    }
    for (int i = 0; i < outputs.size(); i++) {
      model.requireOutput(outputs.get(i), wanted.get(i));
      requirePlace(outputs.get(i), i);
    }
    List<Optional<MemorySegment>> contents = new ArrayList<>();
    for (int i = 0; i < outputs.size(); i++) {
      contents.add(isWritten(i) ? Optional.empty() : Optional.of(content(outputs.get(i))));
    }
    for (int i = 0; i < outputs.size(); i++) {
      GivenPlace given = givenPlaces.get(i);
      MemorySegment place = given == null ? hostPlaceOf(i, outputs.get(i)) : given.memory;
      contents.get(i).ifPresent(content -> shared.copy(content, place));
    }
  }

  /** Tells how long the segments computed, if that was measured and can be. */
  private void tell(SegmentTimes segments) {
    if (!segments.areKnown()) {
      return;
    }
    long sinceBegin = System.nanoTime() - beginNanos;
    try {
      weights.computed(segments.checked(model.segments(), CLOCKS_APART * sinceBegin));
    } catch (ProtocolException e) { // Only groups go by it: no reason to end a worker.
      LOG.log(Level.DEBUG, "times of a worker''s segments are not believed: {0}", e.getMessage());
    }
  }

  /** Checks that an output lies where it was to, or else in the lane. */
  private void requirePlace(PlacedTensor output, int position) {
    GivenPlace given = givenPlaces.get(position);
    if (given != null) {
      PlacedTensor written = given.isWritten() ? output : output.at(given.output.offset());
      if (!written.equals(given.output)) {
        throw new ProtocolException(
            "%s is not what a place was given for: %s".formatted(output, given.output));
      }
    }
    if (!isWritten(position)) {
      output.requireWithin(host.limitBytes());
    }
  }

  /** Whether the device has written an output to its place. */
  private boolean isWritten(int position) {
    GivenPlace given = givenPlaces.get(position);
    return given != null && given.isWritten();
  }

  /** Whether the device may write to memory of its own that others may be lent after the run. */
  boolean writesToDevice() {
    return givenPlaces.values().stream()
        .anyMatch(given -> given.isWritten() && shared.isOnDevice(given.memory));
  }

  /** Where to copy an output from: strings are copied before they are checked. */
  private MemorySegment content(PlacedTensor output) {
    MemorySegment shared = host.at(output.offset(), output.byteSize());
    return output.isString() ? StringOutputs.copied(shared, output.shape()) : shared;
  }

  /** Frees the inputs' places. */
  @Override
  public void close() {
    allocated.forEach(host::free);
  }
}
