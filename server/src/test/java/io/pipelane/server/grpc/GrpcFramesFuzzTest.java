package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersDecoder;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Damage;
import io.pipelane.server.net.Http2Frames;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The frames of calls, HTTP/2's and gRPC's, from a bare socket: whole, cut at every byte, and
 * damaged. What is damaged fails no more than its own connection, and nothing is kept of it.
 */
@Timeout(600)
class GrpcFramesFuzzTest {
  private static final int CASES = Boolean.getBoolean("pipelane.long") ? 50_000 : 1_000;
  private static final int PREFIX = 5;

  private static final String UNKNOWN = "2";

  static byte[] message() {
    return message(Inferences.raw("echo", 1, 2, 3, 4));
  }

  /** A message behind its flag and length. */
  static byte[] message(ModelInferRequest request) {
    byte[] message = request.toByteArray();
    return ByteBuffer.allocate(PREFIX + message.length)
        .put((byte) 0)
        .putInt(message.length)
        .put(message)
        .array();
  }

  static List<byte[]> call(int stream, String method, byte[] body) {
    return Http2Frames.request(
        stream,
        body,
        ":method",
        "POST",
        ":scheme",
        "http",
        ":authority",
        "localhost",
        ":path",
        "/inference.GRPCInferenceService/" + method,
        "content-type",
        "application/grpc",
        "te",
        "trailers");
  }

  private static List<byte[]> calls(byte[] single, byte[] streamed) {
    List<byte[]> frames = new ArrayList<>();
    frames.add(Http2Frames.settings());
    frames.addAll(call(1, "ModelInfer", single));
    frames.addAll(call(3, "ModelStreamInfer", streamed));
    return frames;
  }

  private static byte[] twice(byte[] bytes) {
    return Http2Frames.joined(List.of(bytes, bytes));
  }

  private static byte[] connection(List<byte[]> frames) {
    List<byte[]> all = new ArrayList<>(frames);
    all.addFirst(Http2Frames.preface());
    return Http2Frames.joined(all);
  }

  /** What calls end with, until the server has nothing more to say or has said it of so many. */
  private static List<String> ends(
      GrpcConversation conversation, byte[] bytes, int cut, int awaited) throws IOException {
    Http2HeadersDecoder fields = new DefaultHttp2HeadersDecoder();
    List<String> ends = new ArrayList<>();
    try (Socket socket =
        new Socket(
            conversation.server.address().getAddress(), conversation.server.address().getPort())) {
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(30_000);
      try {
        socket.getOutputStream().write(bytes, 0, cut);
        socket.getOutputStream().write(bytes, cut, bytes.length - cut);
        if (awaited == 0) {
          socket.shutdownOutput();
        }
        DataInputStream in = new DataInputStream(socket.getInputStream());
        while (awaited == 0 || ends.size() < awaited) {
          byte[] head = in.readNBytes(9);
          if (head.length < 9) {
            return ends;
          }
          ByteBuffer frame = ByteBuffer.wrap(head);
          int length = (frame.get() & 0xff) << 16 | (frame.getShort() & 0xffff);
          int type = frame.get();
          byte[] payload = in.readNBytes(length);
          if (type == Http2Frames.HEADERS) {
            Http2Headers headers = fields.decodeHeaders(1, Unpooled.wrappedBuffer(payload));
            CharSequence status = headers.get("grpc-status");
            if (status != null) {
              ends.add(status.toString());
            }
          }
        }
      } catch (EOFException | java.net.SocketException closed) {
        return ends; // The server has had enough of it.
      } catch (io.netty.handler.codec.http2.Http2Exception e) {
        throw new IOException(e);
      }
    }
    return ends;
  }

  @Test
  void frames_cutAtEveryByte_areAnswered() throws IOException {
    byte[] bytes = connection(calls(message(), twice(message())));
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      for (int cut = 0; cut < bytes.length; cut++) {
        assertEquals(List.of("0", "0"), ends(conversation, bytes, cut, 2), "cut at " + cut);
      }
      assertEquals(0, conversation.transferMemory.lentBytes());
    }
  }

  @Test
  void damagedFrames_failTheirConnectionAlone() throws IOException {
    long seed = Long.getLong("pipelane.seed", System.nanoTime());
    Random random = new Random(seed);
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      for (int i = 0; i < CASES; i++) {
        String label = "seed " + seed + ", case " + i;
        List<byte[]> frames =
            random.nextBoolean()
                ? Http2Frames.damaged(calls(message(), twice(message())), random)
                : calls(Damage.of(message(), random), Damage.of(twice(message()), random));
        byte[] bytes = connection(frames);
        List<String> ends = ends(conversation, bytes, random.nextInt(bytes.length + 1), 0);
        assertTrue(!ends.contains(UNKNOWN), () -> label + ": a fault of the server, " + ends);
      }
      assertTrue(
          conversation.client().serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
      while (conversation.transferMemory.lentBytes() > 0) {
        Thread.onSpinWait(); // What a connection left is given back where it ran.
      }
    }
  }
}
