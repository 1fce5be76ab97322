package io.pipelane.server.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.hosts.Forward;
import io.pipelane.server.hosts.ForwardingAttempts;
import io.pipelane.server.hosts.Hosts.Elsewhere;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A question about a model that another host is to answer: it is asked what a client of HTTP asks,
 * and its JSON is the message. On the call's event loop.
 */
final class ForwardedQuestion<T> implements ForwardingAttempts.End {
  private final StreamObserver<T> observer;
  private final Runnable here;
  private final Function<String, T> reader;
  private final @Nullable T unanswered;
  private @Nullable ForwardingAttempts attempts;
  private boolean ended;

  /**
   * Asks nobody yet.
   *
   * @param here answers on this host after all
   * @param reader reads the answer's JSON; may throw a StatusException
   * @param unanswered the answer where nobody has it in service; null to fail with the reason then
   */
  ForwardedQuestion(
      StreamObserver<T> observer,
      Runnable here,
      Function<String, T> reader,
      @Nullable T unanswered) {
    this.observer = observer;
    this.here = here;
    this.reader = reader;
    this.unanswered = unanswered;
  }

  /** Asks; the end may be told before this returns. */
  void begin(Elsewhere elsewhere, EventLoop loop, String target, HttpHeaders headers) {
    ((ServerCallStreamObserver<T>) observer)
        .setOnCancelHandler(
            () -> {
              if (attempts != null && !ended) {
                ended = true;
                attempts.cancel();
              }
            });
    attempts =
        elsewhere.begin(
            loop,
            HttpMethod.GET,
            target,
            headers,
            Unpooled.EMPTY_BUFFER,
            new Forward.Patience(System.nanoTime(), 0),
            this);
  }

  @Override
  public void here() {
    ended = true;
    here.run();
  }

  @Override
  public void failed(StatusException error) {
    ended = true;
    T otherwise = unanswered;
    boolean hasNobody = error.status() == Status.NOT_FOUND || error.status() == Status.UNAVAILABLE;
    if (otherwise != null && hasNobody) {
      CallEnd.answer(observer, () -> otherwise);
    } else {
      CallEnd.fail(observer, error);
    }
  }

  @Override
  public void answered(Forward.Answer answer) {
    ended = true;
    ByteBuf bytes = Unpooled.wrappedBuffer(answer.body().toArray(ByteBuf[]::new));
    try {
      if (answer.status().equals(HttpResponseStatus.OK)) {
        CallEnd.answer(observer, () -> reader.apply(bytes.toString(StandardCharsets.UTF_8)));
      } else {
        failed(ForwardedCall.error(answer, bytes));
      }
    } finally {
      bytes.release();
    }
  }

  /**
   * Reads a message's JSON into a builder; what a later version says besides is left out.
   *
   * @throws StatusException {@link Status#INTERNAL} where it is none
   */
  static <B extends Message.Builder> B merged(String json, B builder) {
    try {
      JsonFormat.parser().ignoringUnknownFields().merge(json, builder);
      return builder;
    } catch (InvalidProtocolBufferException e) {
      throw new StatusException(
          Status.INTERNAL, "another host has answered what cannot be read: " + e.getMessage(), e);
    }
  }
}
