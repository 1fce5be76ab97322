package io.pipelane.server.grpc;

import com.google.protobuf.CodedInputStream;
import io.grpc.Metadata;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.hosts.Forward;
import io.pipelane.server.hosts.ForwardingAttempts;
import io.pipelane.server.hosts.Hosts.Elsewhere;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.HttpStatusMapping;
import io.pipelane.server.net.ServerFault;
import io.pipelane.server.protocol.Answers;
import io.pipelane.server.protocol.RequestPriority;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An inference that another host is to answer: its message is the body of the same HTTP request
 * that hosts forward for clients of HTTP, and so is its answer.
 */
final class ForwardedCall implements ForwardingAttempts.End {
  /*
   * Everything belongs to the call's event loop, but for the serializing and parsing of large
   * messages, which a codec thread does. `body` is this call's until it has ended. The message is
   * the end's, who may give it up once told: so a cancellation is told only when no thread serializes
   * it any more.
   */

  /** What the other host is told of the client: who he is, and what trace this belongs to. */
  private static final List<String> PASSED =
      List.of("authorization", "x-api-key", RequestPriority.HEADER, "traceparent", "tracestate");

  private static final String STALL = "Pipelane-Stall-Us";
  private static final String TRACEPARENT = "traceparent";

  private final Elsewhere elsewhere;
  private final String model;
  private final HttpHeaders headers;
  private final Forward.Patience patience;
  private final InferenceParts parts;
  private final EventLoop loop;
  private final End end;
  private @Nullable ByteBuf body;
  private @Nullable ForwardingAttempts attempts;
  private boolean serializing;
  private boolean ended;

  /**
   * The receiver of a forwarded call's end: told one, on the call's event loop or a codec thread,
   * when the message is no longer read.
   */
  interface End extends GrpcInferRun.Receiver {
    /** No other host has answered, and this one can; on the event loop. */
    void here();

    /** The client has gone, or the event loop has ended. */
    void cancelled();
  }

  private ForwardedCall(
      Elsewhere elsewhere,
      ModelInferRequest message,
      Metadata metadata,
      InferenceParts parts,
      End end) {
    this.elsewhere = elsewhere;
    this.model = message.getModelName();
    this.headers =
        headers(metadata).set(HttpHeaderNames.CONTENT_TYPE, MessageInferences.MEDIA_TYPE);
    this.patience = new Forward.Patience(System.nanoTime(), timeoutMicros(message));
    this.parts = parts;
    this.loop = (EventLoop) parts.loop();
    this.end = end;
  }

  /**
   * Sends an inference elsewhere; on its call's event loop.
   *
   * @param end may be told before this returns
   */
  static ForwardedCall begin(
      Elsewhere elsewhere,
      ModelInferRequest message,
      Metadata metadata,
      InferenceParts parts,
      End end) {
    ForwardedCall call = new ForwardedCall(elsewhere, message, metadata, parts, end);
    if (message.getSerializedSize() <= CodecThreads.LARGEST_ON_LOOP) {
      call.serialize(message, call::send);
      return call;
    }
    call.serializing = true;
    try {
      parts.codecs().execute(() -> call.serialize(message, call::sendOnLoop));
    } catch (RejectedExecutionException e) {
      end.failed(CodecThreads.busy("encoding"));
    }
    return call;
  }

  private void serialize(ModelInferRequest message, Consumer<ByteBuf> next) {
    ByteBuf bytes;
    try {
      bytes = MessageBytes.of(message, parts.allocator());
    } catch (RuntimeException | OutOfMemoryError e) {
      end.failed(ServerFault.unlessSaid(e));
      return;
    }
    next.accept(bytes);
  }

  private void sendOnLoop(ByteBuf bytes) {
    try {
      loop.execute(() -> send(bytes));
    } catch (RejectedExecutionException e) {
      bytes.release();
      end.cancelled();
    }
  }

  private void send(ByteBuf bytes) {
    serializing = false;
    if (ended) {
      bytes.release();
      end.cancelled();
      return;
    }
    body = bytes;
    attempts =
        elsewhere.begin(loop, HttpMethod.POST, target(model), headers, bytes, patience, this);
  }

  private static String target(String model) {
    return "/v2/models/" + segment(model) + "/infer";
  }

  /** A name as a part of a path. */
  static String segment(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private static long timeoutMicros(ModelInferRequest message) {
    try {
      return InferMessageReader.timeoutMicros(message.getParametersMap());
    } catch (StatusException e) {
      return 0; // The other host says what is wrong with it.
    }
  }

  /** What the other host is told of the client. */
  static HttpHeaders headers(Metadata metadata) {
    HttpHeaders headers = DefaultHttpHeadersFactory.headersFactory().newHeaders();
    for (String name : PASSED) {
      String value = metadata.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
      if (value != null && value.chars().allMatch(c -> c >= ' ' && c <= '~')) {
        headers.set(name, value);
      }
    }
    return headers;
  }

  /** The client has gone; on the event loop. */
  void cancel() {
    if (!ended) {
      if (attempts != null) {
        attempts.cancel();
      }
      finish();
      if (!serializing) {
        end.cancelled();
      }
    }
  }

  private void finish() {
    ended = true;
    if (body != null) {
      body.release();
      body = null;
    }
  }

  @Override
  public void here() {
    finish();
    end.here();
  }

  @Override
  public void failed(StatusException error) {
    finish();
    end.failed(error);
  }

  @Override
  public void answered(Forward.Answer answer) {
    finish();
    ByteBuf bytes = Unpooled.wrappedBuffer(answer.body().toArray(ByteBuf[]::new));
    if (bytes.readableBytes() <= CodecThreads.LARGEST_ON_LOOP) {
      tell(answer, bytes);
    } else {
      try {
        parts.codecs().execute(() -> tell(answer, bytes));
      } catch (RejectedExecutionException e) {
        bytes.release();
        end.failed(CodecThreads.busy("decoding"));
      }
    }
  }

  /** Tells what an answer says, whose body is given back. */
  private void tell(Forward.Answer answer, ByteBuf bytes) {
    ModelInferResponse message;
    try {
      message = read(answer, bytes);
    } catch (RuntimeException | OutOfMemoryError e) {
      end.failed(ServerFault.unlessSaid(e));
      return;
    } finally {
      bytes.release();
    }
    end.answered(message, new AnswerHeaders(answer.number(STALL), answer.field(TRACEPARENT)));
  }

  private static ModelInferResponse read(Forward.Answer answer, ByteBuf bytes) {
    if (!answer.status().equals(HttpResponseStatus.OK)) {
      throw error(answer, bytes);
    }
    String type = answer.headers().get(HttpHeaderNames.CONTENT_TYPE, "");
    if (!type.equals(MessageInferences.MEDIA_TYPE)) {
      throw new StatusException(
          Status.INTERNAL, "another host has answered a message with \"" + type + '"');
    }
    try {
      return ModelInferResponse.parseFrom(
          CodedInputStream.newInstance(List.of(bytes.nioBuffers())));
    } catch (IOException e) {
      throw new StatusException(Status.INTERNAL, "another host's answer is no message", e);
    }
  }

  /** Why another host has not answered. */
  static StatusException error(Forward.Answer answer, ByteBuf bytes) {
    String said = Answers.errorIn(bytes);
    String message = said.isEmpty() ? "another host has answered " + answer.status() : said;
    Status status = HttpStatusMapping.from(answer.status());
    long seconds = answer.number(HttpHeaderNames.RETRY_AFTER);
    if (seconds < 0) {
      return new StatusException(status, message);
    }
    Duration retryAfter = Duration.ofSeconds(seconds);
    return switch (status) {
      case UNAVAILABLE -> StatusException.unavailable(message, retryAfter);
      case RATE_LIMITED -> StatusException.rateLimited(message, retryAfter);
      default -> new StatusException(status, message);
    };
  }
}
