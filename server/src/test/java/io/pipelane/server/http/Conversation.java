package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.http.message.ForeignPages;
import io.pipelane.server.http.message.Http1Framing;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.protocol.inference.LatestDescription;
import io.pipelane.switcher.InferenceService;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;

/** One connection through the server's real pipeline, on an allocator that counts every byte. */
final class Conversation implements AutoCloseable {
  static final int LIMIT = 1 << 20;

  /** How long a request may take to come, byte by byte. */
  static final Duration SLOWEST = Duration.ofSeconds(60);

  private static final long TRANSFER_BYTES = 2 << 20;

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
  final TransferMemory transferMemory = new TransferMemory(Arena.ofAuto().allocate(TRANSFER_BYTES));
  final ServerActivity activity;
  private final Api api;
  final EmbeddedChannel channel = new EmbeddedChannel();
  private final ByteArrayOutputStream received = new ByteArrayOutputStream();

  Conversation(ModelCatalog catalog, InferenceService service) {
    this(catalog, service, Runnable::run);
  }

  Conversation(ModelCatalog catalog, InferenceService service, Executor codecs) {
    this(Backends.of(catalog, service), codecs);
  }

  Conversation(Backend backend, Executor codecs) {
    this(backend, new ServerActivity(), codecs);
  }

  private Conversation(Backend backend, ServerActivity activity, Executor codecs) {
    this(new Api(backend, Optional.empty(), activity, codecs), activity);
  }

  private Conversation(Api api, ServerActivity activity) {
    this.api = api;
    this.activity = activity;
    channel.config().setAllocator(allocator);
    TransferBuffers transfers = new TransferBuffers(transferMemory);
    RequestPace pace = new RequestPace(SLOWEST);
    channel
        .pipeline()
        .addLast(
            pace,
            ConnectionSetup.newDecoder(),
            new HttpConnection(
                api,
                new Admission(
                    api.access(),
                    ServedPort.PUBLIC,
                    new ForeignPages("localhost", List.of(), api.access().needsKey()),
                    LIMIT),
                new LatestDescription(),
                pace,
                activity,
                transfers,
                new Http1Framing()));
  }

  static Conversation usual() {
    return new Conversation(FakeCatalog.usual(), EchoService.inline());
  }

  /** Another connection of the same server. */
  static Conversation beside(Conversation other) {
    return new Conversation(other.api, other.activity);
  }

  Conversation send(byte[] bytes) {
    return send(bytes, 0, bytes.length);
  }

  Conversation send(byte[] bytes, int offset, int length) {
    if (channel.isOpen()) {
      channel.writeInbound(allocator.directBuffer(length).writeBytes(bytes, offset, length));
    }
    return this;
  }

  Conversation send(String text) {
    return send(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Every byte that came back so far. */
  byte[] received() {
    channel.runPendingTasks();
    for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
      byte[] bytes = new byte[part.readableBytes()];
      part.readBytes(bytes);
      received.writeBytes(bytes);
      part.release();
    }
    return received.toByteArray();
  }

  List<Reply> replies() {
    return Reply.all(received());
  }

  Reply onlyReply() {
    List<Reply> replies = replies();
    assertEquals(1, replies.size(), () -> "exactly one answer, not " + replies);
    return replies.getFirst();
  }

  long bytesHeld() {
    return allocator.metric().usedDirectMemory()
        + allocator.metric().usedHeapMemory()
        + transferMemory.lentBytes();
  }

  void disconnect() {
    channel.close().syncUninterruptibly();
    channel.runPendingTasks();
  }

  /** Ends the connection and checks that no buffer and no exception is left. */
  @Override
  public void close() {
    received();
    channel.finishAndReleaseAll();
    channel.checkException();
    assertEquals(0, bytesHeld(), "bytes of buffers that nobody released");
  }
}
