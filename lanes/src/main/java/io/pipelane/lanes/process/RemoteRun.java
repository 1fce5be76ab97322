package io.pipelane.lanes.process;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.SharedRegion;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** One run in a worker, as its lane's thread in the server sees it. */
final class RemoteRun implements AutoCloseable {
  private final RemoteModel model;
  private final Invocation invocation;
  private final SharedRegion lane;
  private final MemoryTarget.Growth growth;
  private final WeightArrivals weights;
  private final List<Long> allocated = new ArrayList<>();

  RemoteRun(
      RemoteModel model,
      Invocation invocation,
      SharedRegion lane,
      MemoryTarget.Growth growth,
      WeightArrivals weights) {
    this.model = model;
    this.invocation = invocation;
    this.lane = lane;
    this.growth = growth;
    this.weights = weights;
  }

  /** Runs in a worker that has the session; outputs are placed when nothing can fail any more. */
  void in(WorkerProcess worker, long session, WorkerSettings settings) {
    List<PlacedTensor> inputs = placeInputs();
    List<Integer> outputs = invocation.outputs().stream().map(model::output).toList();
    ChannelEnd end = worker.lane(lane.lane());
    try (ArrivalPublisher arrivals =
        new ArrivalPublisher(weights, model.segments(), end.arrivals())) {
      Conversation conversation =
          new Conversation(worker, end, settings.hangTimeout(), arrivals::isUnderWay);
      conversation.say(
          new Message.Run(
              session, lane.descriptor(), lane.maximumBytes(), lane.limitBytes(), inputs, outputs));
      try {
        switch (awaitEnd(conversation)) {
          case Message.Ran ran -> take(ran, outputs);
          case Message.Failed failed -> throw failure(failed, arrivals);
          case Message.ToServer other -> throw new ProtocolException("it answered " + other);
        }
      } catch (ProtocolException e) {
        throw worker.violated(e);
      }
    }
  }

  private List<PlacedTensor> placeInputs() {
    MemoryTarget target = new MemoryTarget.Ephemeral(lane, growth);
    List<PlacedTensor> placed = new ArrayList<>();
    for (InputTensor input : invocation.inputs()) {
      MemorySegment data = input.data();
      long address = target.allocate(data.byteSize());
      if (address == 0) {
        throw new OutOfDeviceMemoryException(data.byteSize());
      }
      allocated.add(address);
      long offset = address - lane.address();
      lane.at(offset, data.byteSize()).copyFrom(data);
      placed.add(
          new PlacedTensor(
              model.input(input.name()), input.type(), input.shape(), offset, data.byteSize()));
    }
    return placed;
  }

  /** Makes the lane larger while the worker asks for it. */
  private Message.ToServer awaitEnd(Conversation conversation) {
    while (true) {
      Message.ToServer answer = conversation.listen();
      if (!(answer instanceof Message.Grow(long bytes, long peakBytes))) {
        return answer;
      }
      reached(peakBytes);
      if (bytes <= lane.maximumBytes()) {
        boolean _ = growth.grow(bytes); // The limit says whether it did.
      }
      conversation.say(new Message.Grown(lane.limitBytes()));
    }
  }

  private void reached(long peakBytes) {
    if (peakBytes > lane.limitBytes()) {
      throw new ProtocolException(
          "it took %d bytes of a lane of %d".formatted(peakBytes, lane.limitBytes()));
    }
    lane.reached(peakBytes);
  }

  private RuntimeException failure(Message.Failed failed, ArrivalPublisher arrivals) {
    reached(failed.peakBytes());
    if (arrivals.failedToArrive()) {
      weights.await(model.segments() - 1); // Throws what they did not come for.
    }
    return failed.refusedBytes() > 0
        ? new OutOfDeviceMemoryException(failed.refusedBytes())
        : new StatusException(failed.status(), failed.reason());
  }

  private void take(Message.Ran ran, List<Integer> wanted) {
    reached(ran.peakBytes());
    weights.await(model.segments() - 1);
    weights.stalled(ran.stallNanos());
    List<PlacedTensor> outputs = ran.outputs();
    if (outputs.size() != wanted.size()) {
      throw new ProtocolException("it has %d outputs".formatted(outputs.size()));
    }
    for (int i = 0; i < outputs.size(); i++) {
      model.requireOutput(outputs.get(i), wanted.get(i));
      outputs.get(i).requireWithin(lane.limitBytes());
    }
    List<MemorySegment> contents = outputs.stream().map(this::content).toList();
    for (int i = 0; i < outputs.size(); i++) {
      PlacedTensor output = outputs.get(i);
      invocation
          .place(invocation.outputs().get(i), output.type(), output.shape(), output.byteSize())
          .copyFrom(contents.get(i));
    }
  }

  /** Where to copy an output from: strings are copied before they are checked. */
  private MemorySegment content(PlacedTensor output) {
    MemorySegment shared = lane.at(output.offset(), output.byteSize());
    return output.isString() ? StringOutputs.copied(shared, output.shape()) : shared;
  }

  /** Frees the inputs' places. */
  @Override
  public void close() {
    allocated.forEach(lane::free);
  }
}
