package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.hosts.ForwardedHeaders;
import io.pipelane.server.http.message.InferenceHeader;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.ServerFault;
import io.pipelane.server.protocol.inference.InferCall;
import io.pipelane.server.protocol.inference.InferRequestReader;
import io.pipelane.server.protocol.inference.LatestDescription;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** The beginning of one inference: finds the version that answers, decodes, and has it run. */
final class InferStart implements Backend.Answer {
  /*
   * On the exchange's event loop, but for the decoding of what takes long, which a codec thread
   * does. Meanwhile the version may leave: the body is kept until its request is taken, and decoded
   * again for the version that follows.
   */
  private static final ByteBuf REGION =
      Unpooled.unreleasableBuffer(
          Unpooled.copiedBuffer("shared_memory_region", StandardCharsets.US_ASCII).asReadOnly());

  private static final SharedMemory OF_ANOTHER_HOST = SharedMemory.ofAnotherHost();

  private final Exchange exchange;
  private final Backend backend;
  private final Executor codecs;
  private final String name;
  private final String version;
  private final ByteBuf body;

  /**
   * One that has not begun.
   *
   * @param version empty lets the catalogue pick
   * @param body the caller's; it is retained where it is needed for longer
   */
  InferStart(
      Exchange exchange,
      Backend backend,
      Executor codecs,
      String name,
      String version,
      ByteBuf body) {
    this.exchange = exchange;
    this.backend = backend;
    this.codecs = codecs;
    this.name = name;
    this.version = version;
    this.body = body;
  }

  /**
   * Begins; on the exchange's event loop.
   *
   * @throws StatusException when the request is refused at once
   */
  void begin() {
    backend.answerWith(name, version, this);
  }

  @Override
  public void begin(ServedModel model, RequestAccount account) {
    try {
      model.checkRequestSize(body::readableBytes);
      int jsonLength = InferenceHeader.jsonLength(exchange.headers(), body.readableBytes());
      if (takesLong(model, jsonLength) || namesRegion(jsonLength)) {
        decodeElsewhere(model, account, jsonLength);
      } else {
        submit(read(model, jsonLength, exchange.latestDescription()), account);
      }
    } catch (StatusException e) {
      throw e;
    } catch (RuntimeException | OutOfMemoryError e) {
      account.failed(Status.INTERNAL);
      throw e;
    }
  }

  @Override
  public RequestAccount account(ServedModel model) {
    InferenceStatistics statistics = backend.statistics();
    if (!statistics.traces()) {
      return statistics.begin(model.version());
    }
    RequestAccount account = statistics.begin(model.version(), exchange.headers()::get);
    exchange.setTraceparent(account.traceparent());
    return account;
  }

  @Override
  public void unanswered(Status reason) {
    exchange.setTraceparent(backend.statistics().unanswered(name, exchange.headers()::get, reason));
  }

  private boolean takesLong(ServedModel model, int jsonLength) {
    return jsonLength > CodecThreads.LARGEST_ON_LOOP
        || (body.readableBytes() > CodecThreads.LARGEST_ON_LOOP
            && model.inputs().stream().anyMatch(input -> input.type() == TensorType.BYTES));
  }

  /** Whether inputs may have to be copied from shared memory, which an event loop must not do. */
  private boolean namesRegion(int jsonLength) {
    return backend.sharedMemory().isInUse()
        && namesRegion(body.slice(body.readerIndex(), jsonLength));
  }

  /** Whether a request, or the JSON part of one, may name a region of shared memory. */
  static boolean namesRegion(ByteBuf request) {
    return ByteBufUtil.indexOf(REGION, request) >= 0;
  }

  private InferCall read(ServedModel model, int jsonLength, LatestDescription latest) {
    try {
      return InferRequestReader.read(
          model, body, jsonLength, exchange.allocator(), latest, sharedMemory());
    } catch (StatusException e) {
      throw e.status() == Status.INVALID_ARGUMENT
              && InferenceHeader.isForgotten(exchange.headers(), body)
          ? e.saying(e.getMessage() + InferenceHeader.HOW_TO_SEND)
          : e;
    }
  }

  /**
   * What the client calls by a region's name is no region of this host where another one has it.
   */
  private SharedMemory sharedMemory() {
    SharedMemory memory = backend.sharedMemory();
    boolean isForwarded = memory.isOn() && exchange.headers().contains(ForwardedHeaders.MARK);
    return isForwarded ? OF_ANOTHER_HOST : memory;
  }

  private void submit(InferCall call, RequestAccount account) {
    InferRun.submit(exchange, call, backend.service(), account, codecs);
  }

  private void decodeElsewhere(ServedModel model, RequestAccount account, int jsonLength) {
    body.retain();
    try {
      codecs.execute(() -> decode(model, account, jsonLength));
    } catch (RejectedExecutionException e) {
      body.release();
      throw CodecThreads.busy("decoding");
    }
  }

  /** On a codec thread; goes back to the event loop, where the body is released. */
  private void decode(ServedModel model, RequestAccount account, int jsonLength) {
    Runnable next;
    Runnable giveUp = body::release;
    try {
      LatestDescription none = new LatestDescription(); // The connection's belongs to its loop.
      InferCall call = read(model, jsonLength, none);
      next = () -> resume(model, call, account);
      giveUp =
          () -> {
            call.close();
            body.release();
          };
    } catch (StatusException e) {
      next = () -> refuse(account, e);
    } catch (RuntimeException | OutOfMemoryError e) {
      StatusException fault = account.traced(() -> ServerFault.of(e));
      next = () -> refuse(account, fault);
    }
    Runnable following = next;
    InferRun.hop(
        exchange,
        () -> {
          try {
            following.run();
          } finally {
            body.release();
          }
        },
        giveUp);
  }

  private void resume(ServedModel model, InferCall call, RequestAccount account) {
    if (exchange.isAbandoned()) {
      account.failed(Status.CANCELLED);
      call.close();
      return;
    }
    try {
      submit(call, account);
    } catch (StatusException e) {
      follow(model, account, e);
    } catch (RuntimeException | OutOfMemoryError e) {
      refuse(account, account.traced(() -> ServerFault.of(e)));
    }
  }

  /** Begins again where the version has left and another one answers for it now. */
  private void follow(ServedModel left, RequestAccount account, StatusException refusal) {
    try {
      backend.answerBy(backend.following(name, version, left, account, refusal), this);
    } catch (RuntimeException | OutOfMemoryError e) {
      exchange.answer(ServerFault.unlessSaid(e));
    }
  }

  private void refuse(RequestAccount account, StatusException error) {
    account.failed(error.status());
    exchange.answer(error);
  }
}
