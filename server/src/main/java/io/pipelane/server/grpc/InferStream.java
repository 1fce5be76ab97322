package io.pipelane.server.grpc;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.server.access.Caller;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.net.CodecThreads;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One ModelStreamInfer: requests run side by side and are answered in their order; one that fails
 * is answered with its error and ends nothing. A key that holds no longer ends the stream. So does
 * a server that stops, once what came before is answered.
 */
final class InferStream implements StreamObserver<IncomingMessage>, LastingCalls.Lasting {
  /*
   * The monitor guards the fields and is held for moments: runs end on any thread, event loops
   * among them. Answers are serialized outside of it. An answer whose turn has not come is
   * serialized into a copy, as its outputs' memory is given back when the run's end was told. The
   * copy is its slot's, and given back by who sends it or ends the stream.
   *
   * One thread at a time sends: it has set `sending` under the monitor, and whoever finds that set
   * leaves his answer to it. A large answer that an event loop would have to send goes to a codec
   * thread, and `sending` with it. Whatever ends the stream is said by the sender, too.
   *
   * No more than WINDOW requests are under way, and none is asked for while the client does not
   * take its answers.
   */

  private static final System.Logger LOG = System.getLogger(InferStream.class.getName());

  /** Requests under way at a time. */
  static final int WINDOW = 32;

  private final InferenceParts parts;
  private final LastingCalls lasting;
  private final ServerCallStreamObserver<StreamAnswer> answers;
  private final Deque<Slot> slots = new ArrayDeque<>();
  private final Set<GrpcInferRun> runs = new HashSet<>();
  private final Supplier<Caller> callers = GrpcAccess.identification();
  private int owedRequests;
  private boolean counts;
  private boolean sending;
  private boolean halfClosed;
  private boolean draining;
  private boolean cancelled;
  private boolean ended;
  private @Nullable StatusException failure;

  /**
   * A stream of which nothing has come.
   *
   * @param lasting tells it that the server stops
   */
  InferStream(
      InferenceParts parts, LastingCalls lasting, ServerCallStreamObserver<StreamAnswer> answers) {
    this.parts = parts;
    this.lasting = lasting;
    this.answers = answers;
    answers.disableAutoRequest();
    answers.setOnCancelHandler(this::cancel);
    answers.setOnReadyHandler(this::askForMore);
    answers.request(WINDOW);
    lasting.add(this);
  }

  /** A request's place among the answers. */
  private final class Slot implements GrpcInferRun.Receiver {
    private @Nullable StreamAnswer early;
    private @Nullable GrpcInferRun run;
    private boolean done;
    private volatile String id = "";

    @Override
    public void parsed(String id) {
      this.id = id;
    }

    @Override
    public void answered(ModelInferResponse message, AnswerHeaders headers) {
      end(this, ModelStreamInferResponse.newBuilder().setInferResponse(message).build());
    }

    @Override
    public void failed(StatusException error) {
      end(this, failure(error));
    }

    private ModelStreamInferResponse failure(StatusException error) {
      ModelStreamInferResponse.Builder answer =
          ModelStreamInferResponse.newBuilder().setErrorMessage(GrpcStatusMapping.text(error));
      if (!id.isEmpty()) {
        answer.setInferResponse(ModelInferResponse.newBuilder().setId(id));
      }
      return answer.build();
    }

    /** What is sent: the answer, unless there is no room to write it out beside what is kept. */
    private StreamAnswer answer(StreamAnswer kept) {
      try {
        DirectMemory.checkRoom(kept.size());
        return kept;
      } catch (StatusException e) {
        kept.release();
        return new StreamAnswer.Written(failure(e));
      }
    }

    /** The answer as it may wait for its turn, which only an error does where it lies. */
    private StreamAnswer kept(StreamAnswer.Written answer) {
      try {
        return answer.kept(parts.allocator());
      } catch (StatusException e) {
        return new StreamAnswer.Written(failure(e));
      }
    }

    private void giveUp() {
      if (early != null) {
        early.release();
        early = null;
      }
    }
  }

  @Override
  public void onNext(IncomingMessage message) {
    Caller caller;
    try {
      caller = callers.get();
    } catch (StatusException e) {
      message.close();
      fail(e);
      return;
    }
    Slot slot = new Slot();
    synchronized (this) {
      if (isOver()) {
        message.close();
        return;
      }
      slots.add(slot);
    }
    try {
      checkTaken();
      countTowardsLimits(caller);
    } catch (StatusException e) {
      slot.parsed(message.id());
      message.close();
      slot.failed(e);
      return;
    }
    GrpcInferRun run = GrpcInferRun.start(message, parts, CallOrigin.ofCall(caller, parts), slot);
    synchronized (this) {
      if (!slot.done) {
        slot.run = run;
        runs.add(run);
      }
      if (isOver()) {
        run.cancel();
      }
    }
  }

  private synchronized void checkTaken() {
    if (draining) {
      throw StatusException.shuttingDown();
    }
  }

  /** The first message has been counted as the call. */
  private synchronized void countTowardsLimits(Caller caller) {
    if (counts) {
      caller.countMessage();
    }
    counts = true;
  }

  /** Sends a request's answer, or keeps it until its turn. */
  private void end(Slot slot, ModelStreamInferResponse message) {
    StreamAnswer.Written answer = new StreamAnswer.Written(message);
    boolean isNext;
    synchronized (this) {
      slot.done = true;
      if (slot.run != null) {
        runs.remove(slot.run);
      }
      if (isOver()) {
        return;
      }
      isNext = slots.peek() == slot && !sending;
      if (isNext) {
        sending = true;
        slot.early = answer;
      }
    }
    if (!isNext) {
      StreamAnswer kept = slot.kept(answer);
      synchronized (this) {
        if (isOver()) {
          kept.release();
          return;
        }
        slot.early = kept;
        if (sending) {
          return;
        }
        sending = true;
      }
    }
    send();
  }

  /** Sends what has its turn; by the thread that has set {@code sending}. */
  private void send() {
    for (StreamAnswer next = next(); next != null; next = next()) {
      if (next instanceof StreamAnswer.Kept
          && next.size() > CodecThreads.LARGEST_ON_LOOP
          && parts.isLoop()
          && sendElsewhere(next)) {
        return;
      }
      put(next);
    }
  }

  private void put(StreamAnswer answer) {
    try {
      answers.onNext(answer);
    } catch (OutOfMemoryError e) { // By which gRPC has ended the call: nothing more can be said.
      LOG.log(Level.WARNING, "a stream was ended, as others took the room for its answer", e);
      cancel();
      return;
    } finally {
      answer.release();
    }
    synchronized (this) {
      owedRequests++;
    }
    askForMore();
  }

  private boolean sendElsewhere(StreamAnswer next) {
    try {
      parts
          .codecs()
          .execute(
              () -> {
                put(next);
                send();
              });
      return true;
    } catch (RejectedExecutionException e) {
      return false; // Sent here, as nobody may be left waiting.
    }
  }

  /** The next answer to be sent; null where there is none yet, and the thread sends no more. */
  private @Nullable StreamAnswer next() {
    StatusException error;
    synchronized (this) {
      Slot first = slots.peek();
      if (!isOver() && first != null && first.early != null) {
        slots.remove();
        return first.answer(first.early);
      }
      sending = false;
      boolean isAnswered = failure == null && !cancelled && slots.isEmpty();
      if (ended || (failure == null && !(isAnswered && (halfClosed || draining)))) {
        return null;
      }
      ended = true;
      giveUpAnswers();
      error = failure == null && !halfClosed ? StatusException.shuttingDown() : failure;
    }
    lasting.remove(this);
    if (error == null) {
      answers.onCompleted();
    } else {
      answers.onError(
          GrpcStatusMapping.status(error).asRuntimeException(GrpcStatusMapping.trailers(error)));
    }
    return null;
  }

  private boolean isOver() {
    return cancelled || ended || failure != null;
  }

  /** Has somebody say how the stream ends, if it is to end. */
  private void sendIfNobodyDoes() {
    synchronized (this) {
      if (sending) {
        return;
      }
      sending = true;
    }
    send();
  }

  /** Asks outside of the monitor, as a message that is there already comes before this returns. */
  private void askForMore() {
    int owed;
    synchronized (this) {
      if (isOver() || owedRequests == 0 || !answers.isReady()) {
        return;
      }
      owed = owedRequests;
      owedRequests = 0;
    }
    answers.request(owed);
  }

  private void cancel() {
    lasting.remove(this);
    synchronized (this) {
      cancelled = true;
      giveUpAnswers();
      List.copyOf(runs).forEach(GrpcInferRun::cancel);
    }
  }

  /** Gives back what has waited for its turn; under the monitor. */
  private void giveUpAnswers() {
    slots.forEach(Slot::giveUp);
    slots.clear();
  }

  @Override
  public void beginDrain() {
    synchronized (this) {
      draining = true;
    }
    sendIfNobodyDoes();
  }

  /** Ends the stream; requests under way are not answered. */
  private void fail(StatusException error) {
    synchronized (this) {
      if (isOver()) {
        return;
      }
      failure = error;
      List.copyOf(runs).forEach(GrpcInferRun::cancel);
    }
    sendIfNobodyDoes();
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
    sendIfNobodyDoes();
  }
}
