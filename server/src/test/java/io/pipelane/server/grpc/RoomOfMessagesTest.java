package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import io.grpc.MethodDescriptor.Marshaller;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.server.memory.HeapRoom;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Collections;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

/** No large message is read without room of the heap, whatever it ends with. */
class RoomOfMessagesTest {
  private static final int MANY = 1 << 18;
  private static final byte[] STRINGS = strings();

  private final HeapRoom heap = new HeapRoom(100L * MANY);

  private static byte[] strings() {
    ByteString letter = ByteString.copyFromUtf8("a");
    InferTensorContents letters =
        InferTensorContents.newBuilder()
            .addAllBytesContents(Collections.nCopies(MANY, letter))
            .build();
    return Inferences.typed("echo", "BYTES", letters, MANY).toBuilder()
        .setId("7")
        .build()
        .toByteArray();
  }

  /** A marshaller of what must not be read. */
  private static final class Unasked implements Marshaller<ModelInferRequest> {
    @Override
    public InputStream stream(ModelInferRequest message) {
      throw new AssertionError("written");
    }

    @Override
    public ModelInferRequest parse(InputStream stream) {
      throw new AssertionError("read");
    }
  }

  private static IncomingMessage incoming(InputStream stream, HeapRoom room) {
    return new IncomingMessage(stream, new Unasked(), room);
  }

  /** As gRPC's: decompresses when it is touched first. */
  private static InputStream compressed(byte[] message, int mostBytes) {
    return new FilterInputStream(InputStream.nullInputStream()) {
      @Override
      public int available() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
          out.write(message);
        }
        InputStream _ =
            new LazyGzip(mostBytes).decompress(new ByteArrayInputStream(bytes.toByteArray()));
        return 1;
      }
    };
  }

  private void assertRefused(Status status, IncomingMessage message) {
    StatusException refusal = assertThrows(StatusException.class, message::parse);
    assertEquals(status, refusal.status());
    assertEquals("7", message.id());
    assertEquals(0, heap.takenBytes());
  }

  @Test
  void messageWithABrokenEnd_isRefusedUnread() {
    byte[] broken = Arrays.copyOf(STRINGS, STRINGS.length + 1);
    broken[STRINGS.length] = 7;
    assertRefused(Status.INVALID_ARGUMENT, incoming(new LargeMessagesTest.Bytes(broken), heap));
    assertRefused(Status.INVALID_ARGUMENT, incoming(compressed(broken, 1 << 30), heap));
  }

  @Test
  void messageThatIsTooLargeAtItsEnd_isRefusedUnread() {
    assertRefused(Status.TOO_LARGE, incoming(compressed(STRINGS, STRINGS.length - 1), heap));
  }

  @Test
  void compressedMessageWithoutRoomToWaitIn_isRefusedByItsId() {
    IncomingMessage message = incoming(compressed(STRINGS, 1 << 30), new HeapRoom(10));
    assertFalse(message.isLarge());
    assertRefused(Status.INSUFFICIENT_MEMORY, message);
  }
}
