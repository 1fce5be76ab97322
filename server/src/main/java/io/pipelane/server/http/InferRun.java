package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.util.AsciiString;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.PlacedOutputs;
import io.pipelane.server.net.ServerFault;
import io.pipelane.server.protocol.RequestPriority;
import io.pipelane.server.protocol.inference.InferCall;
import io.pipelane.server.protocol.inference.InferResponseWriter;
import io.pipelane.server.protocol.inference.OutputTensor;
import io.pipelane.server.statistics.BatchRows;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** One inference on its way from a decoded request to an answer. */
final class InferRun implements ResultHandler {
  /*
   * Threads, one after another: the event loop submits; a lane's thread, or the event loop itself
   * where the run is short, places outputs and reports the end; the event loop encodes (large JSON: a
   * codec thread) and answers. `outputs` are written by whoever runs until it hands over to the event
   * loop.
   *
   * References: `call` holds the inputs' buffers until the handler has been told the end, because
   * the service reads them until then, even when the client is long gone. Outputs belong to this
   * run from their placing until they are part of a Response, which then owns them. After the event
   * loop has shut down, whichever thread finds out releases both.
   */

  private static final System.Logger LOG = System.getLogger(InferRun.class.getName());
  private static final AsciiString PRIORITY = AsciiString.cached(RequestPriority.HEADER);

  private final Exchange exchange;
  private final InferCall call;
  private final RequestAccount account;
  private final Executor codecs;
  private final PlacedOutputs outputs;
  private InferenceService.@Nullable Ticket ticket;
  private long jsonBytes; // written as the outputs are
  private boolean ended;

  private InferRun(Exchange exchange, InferCall call, RequestAccount account, Executor codecs) {
    this.exchange = exchange;
    this.call = call;
    this.account = account;
    this.codecs = codecs;
    this.outputs = new PlacedOutputs(exchange.transfers(), exchange.allocator(), Integer.MAX_VALUE);
  }

  /**
   * Has a decoded request run; on the exchange's event loop.
   *
   * @param call taken over
   * @param account ended by the run, or by the caller where this throws
   * @throws StatusException when the request is refused at once
   */
  static void submit(
      Exchange exchange,
      InferCall call,
      InferenceService service,
      RequestAccount account,
      Executor codecs) {
    new InferRun(exchange, call, account, codecs).submit(service);
  }

  private void submit(InferenceService service) {
    exchange.whenAbandoned(this::cancel);
    InferenceRequest asked = call.request().waited(exchange.waitedNanos());
    account.decoded(asked.deadlineNanos(), BatchRows.of(call.model().inputs(), asked.inputs()));
    try {
      InferenceRequest request =
          exchange
              .caller()
              .classed(RequestPriority.classed(asked, exchange.headers().get(PRIORITY)));
      ticket = service.submit(request, this);
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
    long sum = isJson(name) ? jsonBytes + byteSize : jsonBytes;
    InferResponseWriter.checkJsonSize(sum);
    MemorySegment place = outputs.place(name, type, shape, byteSize);
    jsonBytes = sum; // Not before: what is refused a place may be asked for again.
    return place;
  }

  @Override
  public void completed(InferenceTimings timings) {
    exchange.setTaken();
    account.ran(timings);
    StatusException error = deliver();
    hop(exchange, () -> end(error), this::releaseAll);
  }

  @Override
  public void failed(StatusException error) {
    exchange.setTaken();
    hop(exchange, () -> end(error), this::releaseAll);
  }

  /** Writes outputs that are not sent to where they go, while a thread may still wait for that. */
  private @Nullable StatusException deliver() {
    try {
      call.deliver(outputs.tensors());
      return null;
    } catch (StatusException e) {
      return e;
    }
  }

  private void end(@Nullable StatusException error) {
    if (ended) {
      LOG.log(System.Logger.Level.ERROR, "a request was ended twice");
      return;
    }
    ended = true;
    call.close();
    if (error != null || exchange.isAbandoned()) {
      outputs.release();
      account.failed(error == null ? Status.CANCELLED : error.status());
      if (error != null) {
        exchange.answer(error);
      }
    } else if (jsonBytes <= CodecThreads.LARGEST_ON_LOOP) {
      exchange.answer(encode());
    } else {
      try {
        codecs.execute(this::encodeElsewhere);
      } catch (RejectedExecutionException e) {
        outputs.release();
        StatusException busy = CodecThreads.busy("encoding");
        account.failed(busy.status());
        exchange.answer(busy);
      }
    }
  }

  private boolean isJson(String output) {
    int position = call.request().outputs().indexOf(output);
    return position >= 0 && !call.isBinary(position) && call.region(position) == null;
  }

  private void encodeElsewhere() {
    Response response = encode();
    hop(exchange, () -> exchange.answer(response), response::release);
  }

  /** Turns the outputs into a response, whether it went well or not; they are no longer ours. */
  private Response encode() {
    account.encoding();
    ByteBuf body = Response.newLargeBody(exchange.allocator());
    try {
      List<OutputTensor> binary =
          InferResponseWriter.write(call, outputs.tensors(), body, exchange::isAbandoned);
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
      return failure(account.traced(() -> ServerFault.of(e)));
    } finally {
      outputs.release();
    }
  }

  private Response failure(StatusException error) {
    account.failed(error.status());
    return Response.error(error, exchange.allocator());
  }

  private void releaseAll() {
    call.close();
    outputs.release();
  }

  /** Goes on on the exchange's event loop, or gives up when that has shut down. */
  static void hop(Exchange exchange, Runnable action, Runnable giveUp) {
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
}
