package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.protocol.InferCall;
import io.pipelane.server.protocol.InferRequestReader;
import io.pipelane.server.protocol.InferResponseWriter;
import io.pipelane.server.protocol.LatestDescription;
import io.pipelane.server.protocol.OutputTensor;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** One inference on its way from a decoded body to an answer. */
final class InferRun implements ResultHandler {
  /*
   * Threads, one after another: the event loop decodes (large JSON: a codec thread) and submits; a
   * lane's thread places outputs and reports the end; the event loop encodes (large JSON: a codec
   * thread) and answers. `outputs` and `stallNanos` are the lane's until it hands over to the event loop.
   *
   * References: `call` holds the inputs' buffers until the handler has been told the end, because
   * the service reads them until then, even when the client is long gone. Outputs belong to this
   * run from their placing until they are part of a Response, which then owns them. After the event
   * loop has shut down, whichever thread finds out releases both.
   */

  private static final ByteBuf REGION =
      Unpooled.unreleasableBuffer(
          Unpooled.copiedBuffer("shared_memory_region", StandardCharsets.US_ASCII).asReadOnly());

  private static final Duration RETRY_AFTER_BUSY = Duration.ofSeconds(1);
  private static final System.Logger LOGGER = System.getLogger(InferRun.class.getName());

  private final Exchange exchange;
  private final InferCall call;
  private final RequestAccount account;
  private final Executor codecs;
  private final List<OutputTensor> outputs;
  private InferenceService.@Nullable Ticket ticket;
  private boolean ended;

  private InferRun(Exchange exchange, InferCall call, RequestAccount account, Executor codecs) {
    this.exchange = exchange;
    this.call = call;
    this.account = account;
    this.codecs = codecs;
    this.outputs = new ArrayList<>(call.request().outputs().size());
  }

  /**
   * Decodes and submits; on the exchange's event loop. The caller keeps its reference to the body.
   *
   * @param account ended by the run, or by the caller where this throws
   * @throws StatusException when the request is refused at once
   */
  static void start(
      Exchange exchange,
      ByteBuf body,
      ServedModel model,
      InferenceService service,
      RequestAccount account,
      SharedMemory sharedMemory,
      Executor codecs) {
    int jsonLength = InferenceHeader.jsonLength(exchange.headers(), body.readableBytes());
    if (!takesLong(model, body.readableBytes(), jsonLength)
        && !namesRegion(sharedMemory, body, jsonLength)) {
      InferCall call =
          InferRequestReader.read(
              model,
              body,
              jsonLength,
              exchange.allocator(),
              exchange.latestDescription(),
              sharedMemory);
      new InferRun(exchange, call, account, codecs).submit(service);
      return;
    }
    body.retain();
    try {
      codecs.execute(
          () -> decode(exchange, body, jsonLength, model, service, account, sharedMemory, codecs));
    } catch (RejectedExecutionException e) {
      body.release();
      throw busy("decoding");
    }
  }

  private static boolean takesLong(ServedModel model, int bodyLength, int jsonLength) {
    return jsonLength > CodecThreads.LARGEST_ON_LOOP
        || (bodyLength > CodecThreads.LARGEST_ON_LOOP
            && model.inputs().stream().anyMatch(input -> input.type() == TensorType.BYTES));
  }

  /** Whether inputs may have to be copied from shared memory, which an event loop must not do. */
  private static boolean namesRegion(SharedMemory sharedMemory, ByteBuf body, int jsonLength) {
    return sharedMemory.isInUse()
        && ByteBufUtil.indexOf(REGION, body.slice(body.readerIndex(), jsonLength)) >= 0;
  }

  /** Decodes on a codec thread and goes back to the event loop; releases the body. */
  private static void decode(
      Exchange exchange,
      ByteBuf body,
      int jsonLength,
      ServedModel model,
      InferenceService service,
      RequestAccount account,
      SharedMemory sharedMemory,
      Executor codecs) {
    try {
      LatestDescription none = new LatestDescription(); // The connection's belongs to its loop.
      InferCall call =
          InferRequestReader.read(
              model, body, jsonLength, exchange.allocator(), none, sharedMemory);
      InferRun run = new InferRun(exchange, call, account, codecs);
      hop(exchange, () -> run.resume(service), call::close);
    } catch (StatusException e) {
      hop(exchange, () -> refuse(exchange, account, e), () -> {});
    } catch (RuntimeException | OutOfMemoryError e) {
      hop(exchange, () -> refuse(exchange, account, internal(account, e)), () -> {});
    } finally {
      body.release();
    }
  }

  private static void refuse(Exchange exchange, RequestAccount account, StatusException error) {
    account.failed(error.status());
    exchange.answer(error);
  }

  /** A fault that nothing foresaw, logged with the request's trace. */
  private static StatusException internal(RequestAccount account, Throwable cause) {
    return account.traced(() -> Api.internal(cause));
  }

  private void resume(InferenceService service) {
    if (exchange.isAbandoned()) {
      account.failed(Status.CANCELLED);
      call.close();
      return;
    }
    try {
      submit(service);
    } catch (StatusException e) {
      refuse(exchange, account, e);
    } catch (RuntimeException e) {
      refuse(exchange, account, internal(account, e));
    }
  }

  private void submit(InferenceService service) {
    exchange.whenAbandoned(this::cancel);
    account.decoded(call.request().deadlineNanos());
    try {
      ticket = service.submit(exchange.caller().classed(call.request()), this);
    } catch (RuntimeException e) {
      call.close();
      throw e;
    }
  }

  private void cancel() {
    if (ticket != null) {
      ticket.cancel();
    }
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    if (byteSize > Integer.MAX_VALUE) {
      throw new StatusException(
          Status.TOO_LARGE,
          "output \"%s\" has %d bytes, the limit is %d"
              .formatted(name, byteSize, Integer.MAX_VALUE));
    }
    int size = (int) byteSize;
    ByteBuf data = exchange.transfers().take(Math.max(1, size), exchange.allocator());
    data.writerIndex(size);
    outputs.add(new OutputTensor(name, type, shape, data));
    return OutputTensor.memory(data);
  }

  @Override
  public void completed(InferenceTimings timings) {
    account.ran(timings);
    StatusException error = deliver();
    hop(exchange, () -> end(error), this::releaseAll);
  }

  @Override
  public void failed(StatusException error) {
    hop(exchange, () -> end(error), this::releaseAll);
  }

  /** Writes outputs that are not sent to where they go, while a thread may still wait for that. */
  private @Nullable StatusException deliver() {
    try {
      call.deliver(outputs);
      return null;
    } catch (StatusException e) {
      return e;
    }
  }

  private void end(@Nullable StatusException error) {
    if (ended) {
      LOGGER.log(System.Logger.Level.ERROR, "a request was ended twice");
      return;
    }
    ended = true;
    call.close();
    if (error != null || exchange.isAbandoned()) {
      releaseOutputs();
      account.failed(error == null ? Status.CANCELLED : error.status());
      if (error != null) {
        exchange.answer(error);
      }
    } else if (jsonBytes() <= CodecThreads.LARGEST_ON_LOOP) {
      exchange.answer(encode());
    } else {
      try {
        codecs.execute(this::encodeElsewhere);
      } catch (RejectedExecutionException e) {
        releaseOutputs();
        refuse(exchange, account, busy("encoding"));
      }
    }
  }

  private long jsonBytes() {
    long bytes = 0;
    List<String> wanted = call.request().outputs();
    for (OutputTensor output : outputs) {
      int position = wanted.indexOf(output.name());
      if (position >= 0 && !call.isBinary(position) && call.region(position) == null) {
        bytes += output.data().readableBytes();
      }
    }
    return bytes;
  }

  private void encodeElsewhere() {
    Response response = encode();
    hop(exchange, () -> exchange.answer(response), response::release);
  }

  /** Turns the outputs into a response, whether it went well or not; they are no longer ours. */
  private Response encode() {
    ByteBuf body = Response.newBody(exchange.allocator());
    try {
      List<OutputTensor> binary = InferResponseWriter.write(call, outputs, body);
      List<ByteBuf> tail = new ArrayList<>(binary.size());
      for (OutputTensor output : binary) {
        tail.add(output.data().retain());
      }
      int jsonLength = call.hasBinaryOutput() ? body.readableBytes() : -1;
      account.answered();
      return Response.inferred(body, tail, jsonLength, account.stallNanos());
    } catch (StatusException e) {
      body.release();
      return failure(e);
    } catch (RuntimeException | OutOfMemoryError e) {
      body.release();
      return failure(internal(account, e));
    } finally {
      releaseOutputs();
    }
  }

  private Response failure(StatusException error) {
    account.failed(error.status());
    return Response.error(error, exchange.allocator());
  }

  private void releaseAll() {
    call.close();
    releaseOutputs();
  }

  private void releaseOutputs() {
    outputs.forEach(output -> output.data().release());
    outputs.clear();
  }

  /** Goes on on the exchange's event loop, or gives up when that has shut down. */
  private static void hop(Exchange exchange, Runnable action, Runnable giveUp) {
    if (exchange.loop().inEventLoop()) {
      action.run();
      return;
    }
    try {
      exchange.loop().execute(action);
    } catch (RejectedExecutionException e) {
      giveUp.run();
    }
  }

  /** The codec threads take no more. */
  private static StatusException busy(String with) {
    return StatusException.unavailable(
        "the server is busy " + with + "; try again", RETRY_AFTER_BUSY);
  }
}
