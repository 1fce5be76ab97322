package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.internal.PlatformDependent;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Http2Frames;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FrameBytesTest {
  private static final int FRAME = 16 << 10;

  /** Frames of each message, less than a connection may send before its server asks for more. */
  private static final int FRAMES = 220;

  private static final int MESSAGES = 8;

  /** A connection whose message has come in part; returns when the server has read that. */
  private static Socket beginMessage(GrpcConversation conversation) throws IOException {
    Socket socket =
        new Socket(
            conversation.server.address().getAddress(), conversation.server.address().getPort());
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
    List<Socket> sockets = new ArrayList<>();
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      long before = PlatformDependent.usedDirectMemory();
      for (int i = 0; i < MESSAGES; i++) {
        sockets.add(beginMessage(conversation));
      }
      long held = PlatformDependent.usedDirectMemory() - before;
      long sent = (long) MESSAGES * FRAMES * FRAME;
      assertTrue(held > sent / 2, () -> held + " bytes for " + sent + ": are they counted?");
      assertTrue(held < sent * 3 / 2, () -> held + " bytes for " + sent);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
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
