package io.pipelane.server.http;

import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http2.DefaultHttp2WindowUpdateFrame;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import io.netty.handler.timeout.IdleStateHandler;
import io.pipelane.server.http.message.ForeignPages;
import io.pipelane.server.http.message.Framing;
import io.pipelane.server.http.message.Http1Framing;
import io.pipelane.server.http.message.Http2Framing;
import io.pipelane.server.http.message.ReadPlaces;
import io.pipelane.server.net.AnswerPace;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.net.UnheardReset;
import io.pipelane.server.protocol.inference.LatestDescription;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * What the pipelines of a port's connections are made of, by the protocol that a client speaks. An
 * HTTP/2 stream has the pipeline of an HTTP/1.1 connection, but for how answers are framed.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class ConnectionSetup {
  private static final int MAXIMUM_LINE_LENGTH = 8 << 10;
  private static final int MAXIMUM_HEADERS_LENGTH = 32 << 10;
  private static final int LARGEST_BODY_PIECE = 1 << 20;

  /** Requests of one HTTP/2 connection at a time. */
  static final int MAXIMUM_STREAMS = 128;

  /** Streams that a client may withdraw in the time below; beyond it is closed (CVE-2023-44487). */
  static final int MAXIMUM_RESETS = 200;

  private static final Duration RESETS_COUNTED_FOR = Duration.ofSeconds(30);

  /** What a client may send ahead of being read. */
  private static final int STREAM_WINDOW = 1 << 20;

  private static final int CONNECTION_WINDOW = 4 << 20;
  private static final int LARGEST_FRAME = 64 << 10;
  private static final Duration CLOSING_TIME = Duration.ofSeconds(2);

  private final HttpSettings settings;
  private final ServedPort served;
  private final Api api;
  private final ForeignPages foreign;
  private final ServerActivity activity;
  private final TransferBuffers transfers;
  private final Framing http1Framing = new Http1Framing();
  private final Framing http2Framing = new Http2Framing();

  ConnectionSetup(
      HttpSettings settings,
      ServedPort served,
      Api api,
      ServerActivity activity,
      TransferBuffers transfers) {
    this.settings = settings;
    this.served = served;
    this.api = api;
    this.foreign = new ForeignPages(settings.host(), settings.origins(), api.access().needsKey());
    this.activity = activity;
    this.transfers = transfers;
  }

  /** Readies a new connection, whose protocol shows with its first bytes. */
  void begin(Channel channel) {
    UnheardReset.watch(channel);
    channel.pipeline().addLast(new AnswerPace(settings.idleTimeout()));
    settings
        .tls()
        .ifPresentOrElse(
            tls -> channel.pipeline().addLast(tls.http().newHandler(channel.alloc())),
            () ->
                channel
                    .config()
                    .setRecvByteBufAllocator(
                        new ReadPlaces(channel.metadata().defaultMaxMessagesPerRead())));
    channel
        .pipeline()
        .addLast(
            new IdleStateHandler(
                true, 0, 0, settings.idleTimeout().toMillis(), TimeUnit.MILLISECONDS))
        .addLast(
            settings.tls().isPresent() ? new NegotiatedProtocol(this) : new ProtocolChoice(this));
  }

  /** Goes on in HTTP/1.1. */
  void http1(Channel channel) {
    RequestPace pace = new RequestPace(settings.idleTimeout());
    channel
        .pipeline()
        .addLast(pace)
        .addLast(newDecoder())
        .addLast(connection(newAdmission(), new LatestDescription(), pace, http1Framing));
  }

  /** The decoder of an HTTP/1.1 connection's bytes. */
  static HttpRequestDecoder newDecoder() {
    return new HttpRequestDecoder(
        new HttpDecoderConfig()
            .setMaxInitialLineLength(MAXIMUM_LINE_LENGTH)
            .setMaxHeaderSize(MAXIMUM_HEADERS_LENGTH)
            .setMaxChunkSize(LARGEST_BODY_PIECE));
  }

  /** Goes on in HTTP/2. */
  void http2(Channel channel) {
    Http2Connection connection = new Http2Connection();
    Admission admission = newAdmission();
    LatestDescription latest = new LatestDescription();
    ChannelInitializer<Channel> streams =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(Channel stream) {
            connection.add(stream);
            stream.config().setAllocator(channel.alloc());
            RequestPace pace = new RequestPace(settings.idleTimeout());
            stream
                .pipeline()
                .addLast(pace)
                .addLast(RequestLineCheck.INSTANCE)
                .addLast(new Http2StreamFrameToHttpObjectCodec(true))
                .addLast(connection(admission, latest, pace, http2Framing));
          }
        };
    channel
        .pipeline()
        .addLast(
            Http2FrameCodecBuilder.forServer()
                .initialSettings(
                    Http2Settings.defaultSettings()
                        .maxConcurrentStreams(MAXIMUM_STREAMS)
                        .initialWindowSize(STREAM_WINDOW)
                        .maxFrameSize(LARGEST_FRAME)
                        .maxHeaderListSize(MAXIMUM_HEADERS_LENGTH))
                .decoderEnforceMaxRstFramesPerWindow(
                    MAXIMUM_RESETS, Math.toIntExact(RESETS_COUNTED_FOR.toSeconds()))
                .gracefulShutdownTimeoutMillis(CLOSING_TIME.toMillis())
                .build())
        .addLast(new Http2MultiplexHandler(streams))
        .addLast(connection);
    channel.writeAndFlush(
        new DefaultHttp2WindowUpdateFrame(CONNECTION_WINDOW - Http2CodecUtil.DEFAULT_WINDOW_SIZE));
  }

  private Admission newAdmission() {
    return new Admission(api.access(), served, foreign, settings.maxRequestBytes());
  }

  private HttpConnection connection(
      Admission admission, LatestDescription latest, RequestPace pace, Framing framing) {
    return new HttpConnection(api, admission, latest, pace, activity, transfers, framing);
  }
}
