package io.pipelane.server.grpc;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.EventExecutor;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.access.Demand;
import io.pipelane.server.access.Role;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.memory.HeapRoom;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.PlacedOutputs;
import io.pipelane.server.net.ServerFault;
import io.pipelane.server.protocol.inference.OutputTensor;
import io.pipelane.server.statistics.BatchRows;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One inference on its way from a message to the message that answers it. */
final class GrpcInferRun implements ResultHandler {
  /*
   * Threads, one after another: the caller's event loop, or a codec thread for a large message,
   * decodes and submits; a lane's thread, or the same one where the run is short, places outputs and
   * reports the end; the caller's event loop, or a codec thread for large outputs, encodes and tells
   * the receiver, which serializes the answer before it returns. Only `cancel` may come at any time,
   * on any thread.
   *
   * References: `call` holds the inputs' buffers until the handler has been told the end, whoever
   * still listens. Outputs are this run's until the receiver has been told.
   */
  private final InferenceParts parts;
  private final Receiver receiver;
  private final CallOrigin origin;
  private final EventExecutor loop;
  private final PlacedOutputs outputs;
  private @Nullable RequestAccount account;
  private @Nullable MessageCall call;
  private volatile InferenceService.@Nullable Ticket ticket;
  private volatile boolean cancelled;

  /** The receiver of a run's end; called once, on an event loop or a codec thread. */
  interface Receiver {
    /** The request's id, also of a message of which nothing more could be read. */
    default void parsed(String id) {}

    /** What runs requests has taken it, whatever comes of that; before its end, on any thread. */
    default void taken() {}

    /** What names the request's span, where it is traced; before its end. */
    default void traced(String traceparent) {}

    /** Serializes the answer before it returns: it reads memory that is given back then. */
    void answered(ModelInferResponse message, AnswerHeaders headers);

    void failed(StatusException error);
  }

  private GrpcInferRun(InferenceParts parts, CallOrigin origin, Receiver receiver) {
    this.parts = parts;
    this.origin = origin;
    this.receiver = receiver;
    this.loop = parts.loop();
    this.outputs =
        new PlacedOutputs(parts.transfers(), parts.allocator(), parts.maxResponseBytes());
  }

  /**
   * Begins; on an event loop. Every error is told to the receiver.
   *
   * @param message is closed once it has been decoded
   */
  static GrpcInferRun start(
      IncomingMessage message, InferenceParts parts, CallOrigin origin, Receiver receiver) {
    GrpcInferRun run = new GrpcInferRun(parts, origin, receiver);
    try {
      if (message.isLarge() || namesRegion(parts, parse(message, receiver)) || !message.isQuick()) {
        run.onCodecs(() -> parse(message, receiver), message::close);
      } else {
        try {
          run.begin(message.parse());
        } finally {
          message.close();
        }
      }
    } catch (StatusException e) {
      receiver.failed(e);
    }
    return run;
  }

  private static ModelInferRequest parse(IncomingMessage message, Receiver receiver) {
    try {
      return message.parse();
    } catch (StatusException e) {
      receiver.parsed(message.id());
      throw e;
    }
  }

  /** The same for a message that another host has forwarded. */
  static GrpcInferRun start(
      AddressedMessage addressed, InferenceParts parts, CallOrigin origin, Receiver receiver) {
    GrpcInferRun run = new GrpcInferRun(parts, origin, receiver);
    ByteBuf bytes = addressed.bytes();
    HeapRoom.Share room = HeapRoom.OF_REQUESTS.share();
    if (bytes.readableBytes() <= CodecThreads.LARGEST_ON_LOOP
        && !parts.backend().sharedMemory().isInUse()) {
      run.begin(() -> addressed.parse(room));
    } else {
      bytes.retain();
      run.onCodecs(
          () -> addressed.parse(room),
          () -> {
            bytes.release();
            room.close();
          });
    }
    return run;
  }

  /** Parses on a codec thread, and goes on there. */
  private void onCodecs(Supplier<ModelInferRequest> message, Runnable release) {
    try {
      parts
          .codecs()
          .execute(
              () -> {
                try {
                  begin(message);
                } finally {
                  release.run();
                }
              });
    } catch (RejectedExecutionException e) {
      release.run();
      receiver.failed(CodecThreads.busy("decoding"));
    }
  }

  private void begin(Supplier<ModelInferRequest> message) {
    ModelInferRequest parsed;
    try {
      parsed = message.get();
    } catch (StatusException e) {
      refuse(e);
      return;
    } catch (RuntimeException | OutOfMemoryError e) {
      refuse(logged(e));
      return;
    }
    begin(parsed);
  }

  /** Whether inputs may have to be copied from shared memory, which an event loop must not do. */
  private static boolean namesRegion(InferenceParts parts, ModelInferRequest message) {
    return parts.backend().sharedMemory().isInUse()
        && message.getInputsList().stream()
            .anyMatch(input -> RegionParameters.areIn(input.getParametersMap()));
  }

  private void begin(ModelInferRequest message) {
    receiver.parsed(message.getId());
    try {
      origin.caller().check(Demand.of(Role.INFER, message.getModelName()));
      parts
          .backend()
          .answerWith(message.getModelName(), message.getModelVersion(), new Submission(message));
    } catch (StatusException e) {
      refuse(e);
    } catch (RuntimeException | OutOfMemoryError e) {
      refuse(logged(e));
    }
  }

  /** The request as a version is asked it. */
  private final class Submission implements Backend.Answer {
    private final ModelInferRequest message;

    Submission(ModelInferRequest message) {
      this.message = message;
    }

    @Override
    public RequestAccount account(ServedModel model) {
      return open(model);
    }

    @Override
    public void unanswered(Status reason) {
      Function<String, @Nullable String> headers = origin.headers();
      if (headers != null) {
        String model = message.getModelName();
        traced(parts.backend().statistics().unanswered(model, headers, reason));
      }
    }

    @Override
    public void begin(ServedModel model, RequestAccount opened) {
      submit(message, model, opened);
    }
  }

  /** Where this throws, nothing is left of it but the receiver, who has been told nothing. */
  private void submit(ModelInferRequest message, ServedModel model, RequestAccount opened) {
    account = opened;
    try {
      model.checkRequestSize(message::getSerializedSize);
      MessageCall decoded =
          InferMessageReader.read(
              model, message, parts.transfers(), parts.allocator(), parts.backend().sharedMemory());
      call = decoded;
      InferenceRequest asked = decoded.request().waited(origin.waitedNanos());
      opened.decoded(asked.deadlineNanos(), BatchRows.of(model.inputs(), asked.inputs()));
      submit(origin.classed(asked));
    } catch (StatusException e) {
      account = null;
      closeCall();
      throw e;
    }
  }

  private void closeCall() {
    if (call != null) {
      call.close();
      call = null;
    }
  }

  /** A fault that nothing foresaw, logged with the request's trace. */
  private StatusException logged(Throwable cause) {
    return account == null ? ServerFault.of(cause) : account.traced(() -> ServerFault.of(cause));
  }

  private RequestAccount open(ServedModel model) {
    InferenceStatistics statistics = parts.backend().statistics();
    Function<String, @Nullable String> headers = origin.headers();
    if (headers == null) {
      return statistics.begin(model.version());
    }
    RequestAccount opened = statistics.begin(model.version(), headers);
    traced(opened.traceparent());
    return opened;
  }

  private void traced(@Nullable String traceparent) {
    if (traceparent != null) {
      receiver.traced(traceparent);
    }
  }

  private void submit(InferenceRequest request) {
    if (cancelled) {
      throw callerHasGone();
    }
    InferenceService.Ticket submitted = parts.backend().service().submit(request, this);
    ticket = submitted;
    if (cancelled) {
      submitted.cancel();
    }
  }

  private static StatusException callerHasGone() {
    return new StatusException(Status.CANCELLED, "the caller has gone");
  }

  /** Before anything was submitted. */
  private void refuse(StatusException error) {
    finish(error);
  }

  /** The caller has gone; the receiver is told all the same. Any thread. */
  void cancel() {
    cancelled = true;
    InferenceService.Ticket submitted = ticket;
    if (submitted != null) {
      submitted.cancel();
    }
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    return outputs.place(name, type, shape, byteSize);
  }

  @Override
  public void completed(InferenceTimings timings) {
    receiver.taken();
    if (account != null) {
      account.ran(timings);
    }
    long bytes = 0;
    for (OutputTensor output : outputs.tensors()) {
      bytes += output.data().readableBytes();
    }
    StatusException error = deliver();
    if (bytes > CodecThreads.LARGEST_ON_LOOP) {
      hop(parts.codecs(), () -> finish(error));
    } else {
      onLoop(error);
    }
  }

  /** Writes outputs that are not sent to where they go, while a thread may still wait for that. */
  private @Nullable StatusException deliver() {
    try {
      if (call != null) {
        call.deliver(outputs.tensors());
      }
      return null;
    } catch (StatusException e) {
      return e;
    }
  }

  @Override
  public void failed(StatusException error) {
    receiver.taken();
    onLoop(error);
  }

  private void onLoop(@Nullable StatusException error) {
    if (loop.inEventLoop()) {
      finish(error);
    } else {
      hop(loop, () -> finish(error));
    }
  }

  /** Goes on elsewhere; where nothing more is taken, here, as nobody may be left waiting. */
  private static void hop(Executor to, Runnable action) {
    try {
      to.execute(action);
    } catch (RejectedExecutionException e) {
      action.run();
    }
  }

  private void finish(@Nullable StatusException error) {
    StatusException outcome = error == null && cancelled ? callerHasGone() : error;
    try {
      if (outcome == null && call != null && account != null) {
        account.encoding();
        ModelInferResponse message = InferMessageWriter.write(call, outputs.tensors());
        DirectMemory.checkRoom(message.getSerializedSize()); // gRPC's own buffers end a call.
        account.answered();
        receiver.answered(message, AnswerHeaders.of(account));
      }
    } catch (StatusException e) {
      outcome = e;
    } catch (RuntimeException | OutOfMemoryError e) {
      outcome = logged(e);
    } finally {
      closeCall();
      outputs.release();
    }
    if (outcome != null) {
      if (account != null) {
        account.failed(outcome.status());
      }
      receiver.failed(outcome);
    }
  }
}
