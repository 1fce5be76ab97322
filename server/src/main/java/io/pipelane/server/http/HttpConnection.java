package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.timeout.IdleStateEvent;
import io.netty.util.AttributeKey;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.EventExecutor;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.Caller;
import io.pipelane.server.http.Admission.Admitted;
import io.pipelane.server.http.Admission.Refused;
import io.pipelane.server.http.message.BodyLimit;
import io.pipelane.server.http.message.Framing;
import io.pipelane.server.http.message.InferenceHeader;
import io.pipelane.server.http.message.ReadPlaces;
import io.pipelane.server.http.message.RequestBody;
import io.pipelane.server.http.message.RequestHead;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Response.Content;
import io.pipelane.server.http.message.ResponseHead.Persistence;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.protocol.inference.LatestDescription;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One client's connection, or stream of an HTTP/2 connection: takes its requests apart, hands them
 * to the {@link Api}, and writes the answers in the order of the requests.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class HttpConnection extends ChannelInboundHandlerAdapter {
  /*
   * Everything here belongs to the channel's event loop.
   *
   * `exchanges` holds the requests whose answers have not been written, oldest first; `receiving`
   * is the youngest while its body is still coming. A request that is refused early stays
   * `receiving` until its body has passed by. Answers are written as soon as all older ones are,
   * and flushed once: at the end of a read, or when nothing more is owed, or else by a task behind
   * those already queued, so that completions that arrive together leave together.
   *
   * The connection stops reading while too many answers are owed or the client does not take them.
   *
   * References: this handler releases every message it is given; a body's pieces are retained by
   * RequestBody; an answer's buffers go to the channel when it is written, and are released by
   * Exchange.abandon when it no longer can be.
   */

  /** Answers owed to one client at which the connection stops reading. */
  static final int MAXIMUM_PIPELINED = 64;

  /** A refused request's body up to this length is read and dropped to keep the connection. */
  private static final int LARGEST_DROPPED_BODY = 1 << 16;

  /** Set on a client's connection where a request was refused whose body may still be coming. */
  private static final AttributeKey<Boolean> CUT_SHORT = AttributeKey.valueOf("cut short");

  private static final System.Logger LOG = System.getLogger(HttpConnection.class.getName());

  private final Api api;
  private final ServerActivity activity;
  private final TransferBuffers transfers;
  private final Admission admission;
  private final LatestDescription latestDescription;
  private final RequestPace pace;
  private final Framing framing;
  private @Nullable ChannelHandlerContext attached;
  private final Deque<Exchange> exchanges = new ArrayDeque<>(4);
  private @Nullable Exchange receiving;
  private @Nullable Route receivingRoute;
  private boolean lastRequestSeen;
  private boolean closing;
  private boolean inRead;
  private boolean flushOwed;
  private boolean flushQueued;

  /**
   * A connection on which nothing has come; what is given first may be shared by those of one event
   * loop.
   */
  HttpConnection(
      Api api,
      Admission admission,
      LatestDescription latestDescription,
      RequestPace pace,
      ServerActivity activity,
      TransferBuffers transfers,
      Framing framing) {
    this.api = api;
    this.admission = admission;
    this.latestDescription = latestDescription;
    this.pace = pace;
    this.activity = activity;
    this.transfers = transfers;
    this.framing = framing;
  }

  /** The event that tells connections that the server stops. */
  record Draining() {}

  /** Whether a connection's client may still send what has been answered already. */
  static boolean isCutShort(Channel connection) {
    return connection.hasAttr(CUT_SHORT);
  }

  ByteBufAllocator allocator() {
    return context().alloc();
  }

  TransferBuffers transfers() {
    return transfers;
  }

  LatestDescription latestDescription() {
    return latestDescription;
  }

  EventExecutor loop() {
    return context().executor();
  }

  /** Runs what would hold the event loop for too long. */
  Executor codecs() {
    return api.codecs();
  }

  ServerActivity activity() {
    return activity;
  }

  /** Who is at the other end; null where it has ended. */
  @Nullable SocketAddress peer() {
    return context().channel().remoteAddress();
  }

  private ChannelHandlerContext context() {
    return Objects.requireNonNull(attached);
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    attached = context;
    if (context.channel().config().getRecvByteBufAllocator() instanceof ReadPlaces places) {
      places.follow(this::bodyPlace);
    }
  }

  private @Nullable ByteBuf bodyPlace() {
    return receiving == null ? null : receiving.body().readPlace();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    inRead = true;
    try {
      if (message instanceof HttpRequest request && !lastRequestSeen) {
        begin(request);
      }
      if (message instanceof LastHttpContent) {
        pace.requestEnded();
      }
      if (message instanceof HttpContent content && receiving != null) {
        receive(receiving, content);
      }
    } finally {
      ReferenceCountUtil.release(message);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    inRead = false;
    flushIfOwed();
  }

  private void begin(HttpRequest request) {
    RequestHead head = RequestHead.of(request);
    Exchange exchange = new Exchange(this, head, newBody(head));
    exchanges.add(exchange);
    receiving = exchange;
    receivingRoute = null;
    lastRequestSeen = !head.keepsAlive();
    if (request.decoderResult().isFailure()) {
      refuse(Response.malformed(request.decoderResult().cause(), allocator()));
      return;
    }
    if (request.protocolVersion().majorVersion() != 1) {
      refuse(
          Response.error(
              HttpResponseStatus.HTTP_VERSION_NOT_SUPPORTED,
              allocator(),
              request.protocolVersion() + " is not served; HTTP/1.1 and HTTP/2 are"));
      return;
    }
    switch (admission.judge(head, allocator())) {
      case Admitted(Route route, Caller caller, BodyLimit limit) -> {
        receivingRoute = route;
        exchange.setAdmitted(caller, limit);
        if (route instanceof Route.Upload upload && !api.beginUpload(exchange, head, upload)) {
          lastRequestSeen = true;
          return;
        }
        if (activity.isDraining() && (head.isChunked() || head.contentLength() > 0)) {
          refuseArriving();
        }
        offerContinue();
        updateReading();
      }
      case Refused(Response response, boolean keeps) when keeps -> refuseEarly(head, response);
      case Refused(Response response, boolean _) -> refuse(response);
    }
  }

  private RequestBody newBody(RequestHead head) {
    boolean large = head.contentLength() >= TransferBuffers.LEAST_BYTES && head.encoding() == null;
    int binaryOffset = large ? InferenceHeader.binaryOffset(head.headers()) : 0;
    return new RequestBody(allocator(), transfers, head.contentLength(), binaryOffset);
  }

  private void receive(Exchange exchange, HttpContent content) {
    boolean last = content instanceof LastHttpContent;
    if (last) {
      receiving = null;
    }
    if (exchange.isAnswered()) {
      return;
    }
    if (content.decoderResult().isFailure()) {
      lastRequestSeen = true;
      exchange.answer(
          Response.malformedBody(content.decoderResult().cause(), allocator()).closing());
      return;
    }
    UploadRun upload = exchange.upload();
    if (upload != null) {
      upload.add(content.content());
      if (last) {
        upload.end();
      }
      updateReading();
      return;
    }
    try {
      add(exchange, content.content());
    } catch (StatusException e) {
      receiving = exchange;
      refuse(exchange.refusal(e));
      return;
    }
    Route route = receivingRoute;
    if (last && route != null) {
      api.handle(exchange, route);
    }
  }

  /** Adds a piece to a request's body, unless it is too large, or there is no room for it. */
  private static void add(Exchange exchange, ByteBuf piece) {
    RequestBody body = exchange.body();
    BodyLimit limit = exchange.bodyLimit();
    if (piece.readableBytes() > limit.bytes() - body.length()) {
      throw limit.tooLarge("the body is");
    }
    body.add(piece);
  }

  /** Answers the request being received before its body is there. */
  private void refuseEarly(RequestHead head, Response response) {
    boolean bodyIsShort = !head.isChunked() && head.contentLength() <= LARGEST_DROPPED_BODY;
    if (bodyIsShort && head.expectation() == null) {
      answerReceiving(response);
    } else {
      refuse(response);
    }
  }

  /** Answers the request being received, reads nothing more, and closes. */
  private void refuse(Response response) {
    lastRequestSeen = true;
    answerReceiving(response.closing());
  }

  /** A body that has not come is not waited for; an upload has begun, and goes on. */
  private void refuseArriving() {
    if (receiving != null && !receiving.isAnswered() && receiving.upload() == null) {
      Channel channel = context().channel();
      Channel connection = channel.parent() instanceof DuplexChannel parent ? parent : channel;
      connection.attr(CUT_SHORT).set(true);
      refuse(Response.error(StatusException.shuttingDown(), allocator()));
    }
  }

  private void answerReceiving(Response response) {
    Objects.requireNonNull(receiving).answer(response);
  }

  /** Called by an exchange that has been answered. */
  void answered() {
    while (!closing) {
      Exchange oldest = exchanges.peek();
      Response response = oldest == null ? null : oldest.response();
      if (oldest == null || response == null) {
        break;
      }
      exchanges.remove();
      write(oldest, response);
    }
    offerContinue();
    updateReading();
    if (inRead) {
      return;
    }
    if (exchanges.isEmpty() && !isStream()) {
      flushIfOwed();
    } else if (flushOwed && !flushQueued) {
      flushQueued = true;
      loop().execute(this::flushQueued);
    }
  }

  /** Whether others answer on the same connection, and may have to say something right behind. */
  private boolean isStream() {
    return context().channel() instanceof Http2StreamChannel;
  }

  private void write(Exchange exchange, Response response) {
    Consumer<Channel> stream = exchange.isHeadOnly() ? null : exchange.stream();
    boolean last =
        response.closes()
            || response.content() == Content.EVENTS
            || !exchange.keepsAlive()
            || (activity.isDraining() && exchanges.isEmpty() && receiving == null);
    Persistence persistence =
        last
            ? Persistence.CLOSED
            : exchange.statesKeepAlive() ? Persistence.STATED : Persistence.IMPLIED;
    ChannelFuture written = framing.write(context(), response, exchange.isHeadOnly(), persistence);
    written.addListener(ChannelFutureListener.CLOSE_ON_FAILURE); // No memory to send it with.
    flushOwed = true;
    if (last) {
      closing = true;
      lastRequestSeen = true;
      boolean clientMaySend = receiving != null;
      context().flush();
      if (stream == null) {
        written.addListener(_ -> framing.close(context(), clientMaySend));
      } else {
        stream.accept(context().channel());
      }
    }
  }

  /** Lets the client send its body once no older answer is owed. */
  private void offerContinue() {
    if (receiving != null
        && receiving == exchanges.peek()
        && !receiving.isAnswered()
        && receiving.takeAwaitsContinue()) {
      framing.offerContinue(context());
    }
  }

  /** Reads on, or stops reading, as things are. */
  void updateReading() {
    UploadRun upload = receiving == null ? null : receiving.upload();
    boolean wanted =
        closing
            || (exchanges.size() < MAXIMUM_PIPELINED
                && context().channel().isWritable()
                && (upload == null || !upload.isBehind()));
    if (context().channel().config().isAutoRead() != wanted) {
      context().channel().config().setAutoRead(wanted);
    }
  }

  private void flushQueued() {
    flushQueued = false;
    flushIfOwed();
  }

  private void flushIfOwed() {
    if (flushOwed) {
      flushOwed = false;
      context().flush();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    updateReading();
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    closing = true;
    lastRequestSeen = true;
    receiving = null;
    for (Exchange exchange = exchanges.poll(); exchange != null; exchange = exchanges.poll()) {
      exchange.abandon();
    }
  }

  /**
   * The client has neither sent nor taken a byte for a while, or hardly any; or the server stops.
   */
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof Draining) {
      refuseArriving();
    } else if (!(event instanceof IdleStateEvent || event instanceof RequestPace.TooSlow)) {
      context.fireUserEventTriggered(event);
    } else if (exchanges.isEmpty()) {
      context.close();
    } else if (receiving != null && receiving == exchanges.peek() && !receiving.isAnswered()) {
      refuse(
          Response.error(
              HttpResponseStatus.REQUEST_TIMEOUT, allocator(), "the request's body did not come"));
    }
  }

  boolean isOpen() {
    return context().channel().isActive();
  }

  /** Closes it on a fault that nobody else has met. */
  void failed(Throwable fault) {
    exceptionCaught(context(), fault);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    boolean isTheClients =
        cause instanceof IOException
            || cause instanceof CodecException
            || cause instanceof Http2Exception;
    if (!isTheClients) {
      LOG.log(System.Logger.Level.WARNING, "closing a connection after a fault", cause);
    }
    context.close();
  }
}
