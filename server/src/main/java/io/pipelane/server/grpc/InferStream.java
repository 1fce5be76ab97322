package io.pipelane.server.grpc;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.server.access.Caller;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One ModelStreamInfer: requests run side by side and are answered in their order; one that fails
 * is answered with its error and ends nothing. A key that holds no longer ends the stream.
 */
final class InferStream implements StreamObserver<ModelInferRequest> {
  /*
   * The monitor guards everything: runs end on any thread. An answer whose turn has not come is
   * serialized into a copy, as its outputs' memory is given back when the run's end was told. No
   * more than WINDOW requests are under way, and none is asked for while the client does not take
   * its answers.
   */

  /** Requests under way at a time. */
  static final int WINDOW = 32;

  private final InferenceParts parts;
  private final ServerCallStreamObserver<ModelStreamInferResponse> answers;
  private final Deque<Slot> slots = new ArrayDeque<>();
  private final Set<GrpcInferRun> runs = new HashSet<>();
  private final Supplier<Caller> callers = GrpcAccess.identification();
  private int owedRequests;
  private boolean counts;
  private boolean halfClosed;
  private boolean ended;

  InferStream(InferenceParts parts, ServerCallStreamObserver<ModelStreamInferResponse> answers) {
    this.parts = parts;
    this.answers = answers;
    answers.disableAutoRequest();
    answers.setOnCancelHandler(this::cancel);
    answers.setOnReadyHandler(this::askForMore);
    answers.request(WINDOW);
  }

  /** A request's place among the answers. */
  private final class Slot implements GrpcInferRun.Receiver {
    private @Nullable ModelStreamInferResponse early;
    private @Nullable GrpcInferRun run;
    private boolean done;

    @Override
    public void answered(ModelInferResponse message, AnswerHeaders headers) {
      end(this, ModelStreamInferResponse.newBuilder().setInferResponse(message).build());
    }

    @Override
    public void failed(StatusException error) {
      String reason = error.getMessage();
      String text = reason == null ? error.status().name() : reason;
      end(this, ModelStreamInferResponse.newBuilder().setErrorMessage(text).build());
    }
  }

  @Override
  public void onNext(ModelInferRequest message) {
    Caller caller;
    try {
      caller = callers.get();
    } catch (StatusException e) {
      fail(e);
      return;
    }
    Slot slot = new Slot();
    synchronized (this) {
      if (ended) {
        return;
      }
      slots.add(slot);
    }
    try {
      countTowardsLimits(caller);
    } catch (StatusException e) {
      slot.failed(e);
      return;
    }
    GrpcInferRun run = GrpcInferRun.start(message, parts, CallOrigin.ofCall(caller, parts), slot);
    synchronized (this) {
      if (!slot.done) {
        slot.run = run;
        runs.add(run);
      }
      if (ended) {
        run.cancel();
      }
    }
  }

  /** The first message has been counted as the call. */
  private synchronized void countTowardsLimits(Caller caller) {
    if (counts) {
      caller.countMessage();
    }
    counts = true;
  }

  private synchronized void end(Slot slot, ModelStreamInferResponse answer) {
    slot.done = true;
    if (slot.run != null) {
      runs.remove(slot.run);
    }
    if (ended) {
      return;
    }
    if (slots.peek() != slot) {
      slot.early = copied(answer);
      return;
    }
    slots.remove();
    send(answer);
    while (!slots.isEmpty() && slots.peek().early != null) {
      send(slots.remove().early);
    }
    completeIfDone();
  }

  private void send(@Nullable ModelStreamInferResponse answer) {
    answers.onNext(answer);
    owedRequests++;
    askForMore();
  }

  private static ModelStreamInferResponse copied(ModelStreamInferResponse answer) {
    try {
      return ModelStreamInferResponse.parseFrom(answer.toByteArray());
    } catch (com.google.protobuf.InvalidProtocolBufferException e) {
      throw new AssertionError("what was just written can be read", e);
    }
  }

  private synchronized void askForMore() {
    if (!ended && owedRequests > 0 && answers.isReady()) {
      answers.request(owedRequests);
      owedRequests = 0;
    }
  }

  private synchronized void completeIfDone() {
    if (halfClosed && slots.isEmpty() && !ended) {
      ended = true;
      answers.onCompleted();
    }
  }

  private synchronized void cancel() {
    ended = true;
    List.copyOf(runs).forEach(GrpcInferRun::cancel);
  }

  /** Ends the stream; requests under way are not answered. */
  private synchronized void fail(StatusException error) {
    if (!ended) {
      cancel();
      answers.onError(
          GrpcStatusMapping.status(error).asRuntimeException(GrpcStatusMapping.trailers(error)));
    }
  }

  @Override
  public void onError(Throwable error) {
    cancel();
  }

  @Override
  public void onCompleted() {
    synchronized (this) {
      halfClosed = true;
    }
    completeIfDone();
  }
}
