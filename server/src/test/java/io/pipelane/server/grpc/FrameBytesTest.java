package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.util.internal.PlatformDependent;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Certificates;
import io.pipelane.server.net.Http2Frames;
import io.pipelane.server.net.Tls;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class FrameBytesTest {
  private static final int FRAME = 16 << 10;

  private static final int FRAME_HEAD = 9;

  /** Frames of each message, less than a connection may send before its server asks for more. */
  private static final int FRAMES = 220;

  private static GrpcServer server(Optional<Tls> tls) {
    GrpcSettings settings =
        new GrpcSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            2,
            GrpcConversation.LARGEST_MESSAGE,
            100,
            Duration.ofSeconds(60),
            tls);
    return GrpcServer.start(
        settings,
        Backends.of(FakeCatalog.usual(), EchoService.inline()),
        new TransferMemory(Arena.ofAuto().allocate(1 << 20)));
  }

  private static SocketFactory trustingAnybody() throws GeneralSecurityException {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
    return context.getSocketFactory();
  }

  /** A connection whose message has come in part; returns when the server has read that. */
  private static Socket beginMessage(GrpcServer server, SocketFactory sockets) throws IOException {
    Socket socket = sockets.createSocket(server.address().getAddress(), server.address().getPort());
    if (socket instanceof SSLSocket secure) {
      SSLParameters parameters = secure.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {"h2"});
      secure.setSSLParameters(parameters);
    }
    OutputStream out = socket.getOutputStream();
    out.write(Http2Frames.preface());
    out.write(Http2Frames.settings());
    InputStream in = socket.getInputStream();
    Http2Frames.skip(in);
    out.write(Http2Frames.settingsHeard());
    byte[] head = ByteBuffer.allocate(5).putInt(1, GrpcConversation.LARGEST_MESSAGE).array();
    List<byte[]> call = GrpcFramesFuzzTest.call(1, "ModelInfer", head);
    List<byte[]> fields = call.subList(0, call.size() - 2); // Not its body, which would be whole.
    List<byte[]> frames = new ArrayList<>(fields);
    frames.add(Http2Frames.data(1, head));
    for (int i = 0; i < FRAMES; i++) {
      frames.add(Http2Frames.data(1, new byte[FRAME]));
    }
    frames.add(Http2Frames.ping());
    out.write(Http2Frames.joined(frames));
    int type;
    do {
      type = Http2Frames.skip(in);
    } while (type >= 0 && type != Http2Frames.PING);
    assertEquals(Http2Frames.PING, type, "the server has closed the connection");
    return socket;
  }

  @Test
  void messagesThatHaveNotComeWhole_holdHardlyMoreThanTheirBytes() throws IOException {
    try (GrpcServer server = server(Optional.empty())) {
      assertHoldHardlyMoreThanTheirBytes(server, SocketFactory.getDefault(), 8);
    }
  }

  @Test
  void messagesThatHaveNotComeWhole_holdHardlyMoreThanTheirBytes_overTls(@TempDir Path folder)
      throws Exception {
    Certificates.make(folder, "server");
    Tls.Files files =
        new Tls.Files(folder.resolve("server.pem"), folder.resolve("server.key"), Optional.empty());
    try (Tls tls = Tls.open(files);
        GrpcServer server = server(Optional.of(tls))) {
      assertHoldHardlyMoreThanTheirBytes(server, trustingAnybody(), 4); // As it takes long.
    }
  }

  /** Direct memory in use once connections that were closed before have given theirs back. */
  private static long settledMemory() {
    long last = PlatformDependent.usedDirectMemory();
    for (int same = 0; same < 40; same++) {
      LockSupport.parkNanos(5_000_000);
      long now = PlatformDependent.usedDirectMemory();
      if (now != last) {
        last = now;
        same = 0;
      }
    }
    return last;
  }

  private static void assertHoldHardlyMoreThanTheirBytes(
      GrpcServer server, SocketFactory clients, int messages) throws IOException {
    List<Socket> sockets = new ArrayList<>();
    try {
      long before = settledMemory();
      for (int i = 0; i < messages; i++) {
        sockets.add(beginMessage(server, clients));
      }
      long held = PlatformDependent.usedDirectMemory() - before;
      long sent = (long) messages * FRAMES * FRAME;
      assertTrue(held > sent / 2, () -> held + " bytes for " + sent + ": are they counted?");
      assertTrue(held < sent * 7 / 4, () -> held + " bytes for " + sent);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 1400, 4096, 16 << 10, 64 << 10})
  void frames_holdHardlyMoreThanTheirBytes_howeverMuchIsReadAtATime(int read) {
    UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    ByteBuf cumulation = Unpooled.EMPTY_BUFFER;
    List<ByteBuf> kept = new ArrayList<>();
    int bytes = 0;
    for (; bytes < 4 << 20; bytes += read) {
      ByteBuf more = allocator.directBuffer(read).writeZero(read);
      cumulation = FrameBytes.gather(allocator, cumulation, more);
      while (cumulation.isReadable(FRAME + FRAME_HEAD)) {
        cumulation.skipBytes(FRAME_HEAD);
        kept.add(cumulation.readRetainedSlice(FRAME));
      }
    }
    long held = allocator.metric().usedDirectMemory();
    assertTrue(held < (long) bytes * 3 / 2, held + " bytes for " + bytes);
    cumulation.release();
    kept.forEach(ByteBuf::release);
    assertEquals(0, allocator.metric().usedDirectMemory());
  }

  /** What gRPC keeps of the bytes meanwhile is not changed by those that come. */
  @Test
  void bytes_areWhatWasRead_howeverTheyCame() {
    long seed = Long.getLong("pipelane.seed", System.nanoTime());
    Random random = new Random(seed);
    UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    byte[] all = new byte[4 << 20];
    random.nextBytes(all);
    ByteBuf cumulation = Unpooled.EMPTY_BUFFER;
    List<ByteBuf> kept = new ArrayList<>();
    for (int read = 0; read < all.length; ) {
      int bytes = Math.min(all.length - read, 1 + random.nextInt(1 << random.nextInt(1, 17)));
      ByteBuf more = allocator.directBuffer(bytes + random.nextInt(2 * bytes));
      more.writeBytes(all, read, bytes);
      read += bytes;
      cumulation = FrameBytes.gather(allocator, cumulation, more);
      while (cumulation.isReadable(FRAME) || (cumulation.isReadable() && read == all.length)) {
        kept.add(cumulation.readRetainedSlice(Math.min(FRAME, cumulation.readableBytes())));
      }
    }
    cumulation.release();
    ByteBuf whole = Unpooled.wrappedBuffer(kept.toArray(ByteBuf[]::new));
    assertEquals(Unpooled.wrappedBuffer(all), whole, "seed " + seed);
    whole.release();
    assertEquals(0, allocator.metric().usedDirectMemory(), "seed " + seed);
  }
}
