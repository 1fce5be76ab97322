package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.util.concurrent.EventExecutor;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.Caller;
import io.pipelane.server.hosts.ForwardedHeaders;
import io.pipelane.server.http.message.BodyLimit;
import io.pipelane.server.http.message.Compression;
import io.pipelane.server.http.message.RequestBody;
import io.pipelane.server.http.message.RequestHead;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.net.ServerFault;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.protocol.inference.LatestDescription;
import java.net.SocketAddress;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request and its answer. Belongs to its connection's event loop, to the last field; work
 * elsewhere comes back through {@link #loop}.
 *
 * <p>It ends once: answered, or abandoned because the client has gone.
 */
final class Exchange {
  private final HttpConnection connection;
  private final HttpMethod method;
  private final String target;
  private final HttpHeaders headers;
  private final RequestBody body;
  private final boolean keepsAlive;
  private final boolean headOnly;
  private final boolean statesKeepAlive;
  private final @Nullable Compression compression;
  private @Nullable Compression accepted;
  private boolean awaitsContinue;
  private boolean counted;
  private Caller caller = Caller.ANYBODY;
  private BodyLimit bodyLimit = BodyLimit.NONE;
  private boolean begun;
  private long waitedNanos;
  private @Nullable String traceparent;
  private @Nullable UploadRun upload;
  private volatile boolean abandoned; // read on codec threads
  private volatile boolean taken; // written by lanes
  private @Nullable Response response;
  private @Nullable Runnable whenAbandoned;
  private @Nullable Consumer<Channel> stream;

  Exchange(HttpConnection connection, RequestHead head, RequestBody body) {
    this.connection = connection;
    this.method = head.method();
    this.target = head.target();
    this.headers = head.headers();
    this.body = body;
    this.keepsAlive = head.keepsAlive();
    this.headOnly = head.isHead();
    this.statesKeepAlive = head.statesKeepAlive();
    this.compression = head.compression();
    this.accepted = head.acceptedCompression();
    this.awaitsContinue = head.expectsContinue();
  }

  HttpMethod method() {
    return method;
  }

  /** What is asked for, as it was sent. */
  String target() {
    return target;
  }

  HttpHeaders headers() {
    return headers;
  }

  ByteBufAllocator allocator() {
    return connection.allocator();
  }

  TransferBuffers transfers() {
    return connection.transfers();
  }

  LatestDescription latestDescription() {
    return connection.latestDescription();
  }

  /** What takes the body instead; null where it is collected. */
  @Nullable UploadRun upload() {
    return upload;
  }

  void setUpload(UploadRun run) {
    upload = run;
  }

  /** Has the connection look again whether to read. */
  void readOn() {
    connection.updateReading();
  }

  /** The only thread that may touch the exchange. */
  EventExecutor loop() {
    return connection.loop();
  }

  /** How the body is compressed; null where it is not. */
  @Nullable Compression compression() {
    return compression;
  }

  /** Who has sent it to this host; null where the connection has ended. */
  @Nullable SocketAddress peer() {
    return connection.peer();
  }

  /** Has its client been waiting for other hosts so long. */
  void setWaited(long nanos) {
    waitedNanos = nanos;
  }

  /** How long its client had been waiting before this host began to answer. */
  long waitedNanos() {
    return waitedNanos;
  }

  /** What a body may be, and stand for. */
  BodyLimit bodyLimit() {
    return bodyLimit;
  }

  /**
   * Answers, compressed where the client likes that; an answer to a client that has gone is
   * released.
   */
  void answer(Response answer) {
    Compression wanted = accepted;
    if (wanted == null || answer.contentLength() < Compression.LEAST_BYTES) {
      settle(answer);
      return;
    }
    accepted = null;
    try {
      connection.codecs().execute(() -> compress(wanted, answer));
    } catch (RejectedExecutionException e) {
      settle(answer); // As it is: the codec threads have enough to do.
    }
  }

  /**
   * Answers with a head, behind which the channel belongs to what is told it, until it closes. So
   * long the request is under way for its caller.
   *
   * <p>A client that goes before that has the exchange abandoned.
   */
  void answerWithStream(Response head, Consumer<Channel> follower) {
    if (isEnded()) {
      head.release();
      return;
    }
    Runnable giveUp = whenAbandoned;
    stream =
        channel -> {
          channel.closeFuture().addListener(_ -> caller.end());
          follower.accept(channel);
        };
    begun = false; // It does not end with its head, nor does what to do without its client.
    settle(head);
    begun = true;
    whenAbandoned = giveUp;
  }

  private void compress(Compression wanted, Response answer) {
    Response compressed;
    try {
      compressed = wanted.compress(answer, allocator(), this::isAbandoned);
    } catch (RuntimeException | OutOfMemoryError e) {
      compressed = Response.error(ServerFault.unlessSaid(e), allocator());
    }
    Response settled = compressed;
    try {
      loop().execute(() -> settle(settled));
    } catch (RejectedExecutionException e) {
      settled.release();
    }
  }

  private void settle(Response answer) {
    if (isEnded()) {
      answer.release();
      return;
    }
    response = traceparent == null ? answer : answer.withField("traceparent: " + traceparent);
    whenAbandoned = null;
    abandonUpload();
    body.release();
    uncount();
    connection.answered();
  }

  void answer(StatusException error) {
    answer(refusal(error));
  }

  /** The answer of an error, which tells another host where no run has begun. */
  Response refusal(StatusException error) {
    Response response = Response.error(error, allocator());
    boolean mayRunElsewhere =
        error.status() == Status.INSUFFICIENT_MEMORY
            && !taken
            && headers.contains(ForwardedHeaders.MARK);
    return mayRunElsewhere ? response.withField(ForwardedHeaders.NOT_RUN + ": 1") : response;
  }

  /** Notes that what runs requests has taken this one, whatever comes of it; on any thread. */
  void setTaken() {
    taken = true;
  }

  /** What to do when the client goes away before it is answered. */
  void whenAbandoned(Runnable action) {
    whenAbandoned = action;
  }

  /** Closes the connection on a fault that leaves no answer to give; on the event loop. */
  void failed(Throwable fault) {
    connection.failed(fault);
  }

  /** Whether nobody can be answered; on the event loop, which may not have told yet. */
  boolean hasNoClient() {
    return abandoned || !connection.isOpen();
  }

  /** Whether the client has gone; for any thread. */
  boolean isAbandoned() {
    return abandoned;
  }

  boolean isAnswered() {
    return response != null;
  }

  private boolean isEnded() {
    return abandoned || response != null;
  }

  /** Notes that the server counts this request as running. */
  void setCounted() {
    counted = true;
  }

  /** Has the answer name a trace; null for none. */
  void setTraceparent(@Nullable String header) {
    traceparent = header;
  }

  /**
   * Notes that the request is wanted.
   *
   * @param asking has begun it, and is told when it ends
   */
  void setAdmitted(Caller asking, BodyLimit limit) {
    caller = asking;
    begun = true;
    bodyLimit = limit;
  }

  /** Who asks. */
  Caller caller() {
    return caller;
  }

  private void uncount() {
    if (begun) {
      begun = false;
      caller.end();
    }
    if (counted) {
      counted = false;
      connection.activity().end();
    }
  }

  private void abandonUpload() {
    if (upload != null) {
      upload.abandon();
    }
  }

  void abandon() {
    abandoned = true;
    abandonUpload();
    body.release();
    uncount();
    if (response != null) {
      response.release();
    }
    if (whenAbandoned != null) {
      whenAbandoned.run();
    }
  }

  RequestBody body() {
    return body;
  }

  ByteBuf takeBody() {
    return body.take();
  }

  @Nullable Response response() {
    return response;
  }

  /** What the channel belongs to once the answer has been written; null where it goes on. */
  @Nullable Consumer<Channel> stream() {
    return stream;
  }

  boolean keepsAlive() {
    return keepsAlive;
  }

  boolean isHeadOnly() {
    return headOnly;
  }

  boolean statesKeepAlive() {
    return statesKeepAlive;
  }

  /** Whether the client waits for leave to send its body; true at most once. */
  boolean takeAwaitsContinue() {
    boolean awaited = awaitsContinue;
    awaitsContinue = false;
    return awaited;
  }
}
