package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

/** Messages that are decompressed when they are read. */
class LazyGzipTest {
  private static final byte[] MESSAGE =
      "a message, a message, a message".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  private final LazyGzip gzip = new LazyGzip(MESSAGE.length);
  private final List<InputStream> made = new ArrayList<>();

  private static InputStream compressed(byte[] message) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(message);
    }
    return new ByteArrayInputStream(bytes.toByteArray());
  }

  /** As gRPC's: decompresses when it is touched first. */
  private InputStream touchable(byte[] message) {
    return new InputStream() {
      @Override
      public int available() throws IOException {
        made.add(gzip.decompress(compressed(message)));
        return 1;
      }

      @Override
      public int read() {
        throw new IllegalStateException("it is closed");
      }

      @Override
      public int read(byte[] target, int offset, int length) {
        return read();
      }
    };
  }

  @Test
  void detached_isReadLater_upToALimit() throws IOException {
    InputStream message = Objects.requireNonNull(LazyGzip.detached(touchable(MESSAGE)));
    InputStream large =
        Objects.requireNonNull(LazyGzip.detached(touchable(new byte[MESSAGE.length + 1])));
    assertArrayEquals(MESSAGE, message.readAllBytes());
    StatusRuntimeException refusal =
        assertThrows(StatusRuntimeException.class, large::readAllBytes);
    assertEquals(Code.RESOURCE_EXHAUSTED, refusal.getStatus().getCode());
  }

  @Test
  void messageOfVeryManyMembers_isReadAsOne() throws IOException {
    ByteArrayOutputStream members = new ByteArrayOutputStream();
    byte[] empty = compressed(new byte[0]).readAllBytes();
    for (int i = 0; i < 1 << 17; i++) {
      members.write(empty);
    }
    members.write(compressed(MESSAGE).readAllBytes());
    InputStream message = gzip.decompress(new ByteArrayInputStream(members.toByteArray()));
    assertArrayEquals(MESSAGE, message.readAllBytes());
  }

  @Test
  void detached_isReadOn_whenGrpcClosesItsOwn() throws IOException {
    InputStream message = Objects.requireNonNull(LazyGzip.detached(touchable(MESSAGE)));
    assertEquals(MESSAGE[0], message.read());
    made.getFirst().close();
    assertArrayEquals(Arrays.copyOfRange(MESSAGE, 1, MESSAGE.length), message.readAllBytes());
  }

  @Test
  void streamThatMakesNothing_isNotDetached() throws IOException {
    gzip.decompress(compressed(MESSAGE));
    assertNull(LazyGzip.detached(new ByteArrayInputStream(MESSAGE)));
  }

  @Test
  void messageThatIsReadAtOnce_isKeptByNobody() throws IOException {
    WeakReference<InputStream> message = new WeakReference<>(gzip.decompress(compressed(MESSAGE)));
    for (int i = 0; i < 10 && message.get() != null; i++) {
      System.gc();
    }
    assertNull(message.get());
  }
}
