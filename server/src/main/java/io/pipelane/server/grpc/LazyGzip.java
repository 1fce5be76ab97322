package io.pipelane.server.grpc;

import io.grpc.Decompressor;
import io.grpc.Status;
import io.pipelane.server.net.GzipMembers;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A decompressor of messages that works while they are read, on whichever thread does that. */
final class LazyGzip implements Decompressor {
  /*
   * gRPC closes a message's stream as soon as it has been handed over, and calls the decompressor
   * on the thread that first touches the stream. So who wants to read a message later touches the
   * stream, and takes a stream of its own for what that has made: gRPC closes its own at any moment
   * from then on, while another thread may be reading. Both hold nothing but the heap's memory until
   * they are read. Where a touch makes nothing, the message is read at once.
   *
   * A thread knows a touch only while one goes on there, so it keeps no message of those that are
   * read without one.
   */
  private static final ThreadLocal<Touch> TOUCH = new ThreadLocal<>();

  private static final int BEGINNING = 16 << 10;

  /** A stream's first touch, and what it has made. */
  private static final class Touch {
    @Nullable Inflating made;
  }

  private final int maxBytes;

  /**
   * One for messages up to a size.
   *
   * @param maxBytes of a message once it is decompressed
   */
  LazyGzip(int maxBytes) {
    this.maxBytes = maxBytes;
  }

  /**
   * What a message's stream decompresses, to be read later.
   *
   * @return null where that cannot be said: the stream must be read before it is closed
   */
  static @Nullable InputStream detached(InputStream message) {
    Touch touch = new Touch();
    TOUCH.set(touch);
    try {
      int _ = message.available();
      return touch.made;
    } catch (IOException e) {
      return null; // Told by who reads it.
    } finally {
      TOUCH.remove();
    }
  }

  /** Bytes of the heap in which a message waits compressed; 0 for others. */
  static int compressedBytes(InputStream message) {
    return message instanceof Inflating made ? made.compressed.length : 0;
  }

  /** A decompressed message from its beginning, however far it was read; empty for others. */
  static Optional<InputStream> anew(InputStream message) {
    return message instanceof Inflating made
        ? Optional.of(new Inflating(made.compressed, made.maxBytes))
        : Optional.empty();
  }

  /** What the first 16 KiB of a compressed message say, which may break off; empty for others. */
  static Optional<InputStream> beginning(InputStream message) {
    return message instanceof Inflating made
        ? Optional.of(
            new Inflating(
                Arrays.copyOf(made.compressed, Math.min(made.compressed.length, BEGINNING)),
                made.maxBytes))
        : Optional.empty();
  }

  @Override
  public String getMessageEncoding() {
    return "gzip";
  }

  @Override
  public InputStream decompress(InputStream compressed) throws IOException {
    byte[] bytes = compressed.readAllBytes();
    @Nullable Touch touch = TOUCH.get();
    if (touch != null) {
      touch.made = new Inflating(bytes, maxBytes);
    }
    return new Inflating(bytes, maxBytes);
  }

  private static final class Inflating extends InputStream {
    private static final int PIECE = 512;

    private final byte[] compressed;
    private final int maxBytes;
    private @Nullable GzipMembers inflater;
    private long count;

    Inflating(byte[] compressed, int maxBytes) {
      this.compressed = compressed;
      this.maxBytes = maxBytes;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      if (inflater == null) {
        inflater = new GzipMembers(new ByteArrayInputStream(compressed), PIECE);
      }
      int read = inflater.read(target, offset, length);
      count += Math.max(0, read);
      if (count > maxBytes) {
        throw Status.RESOURCE_EXHAUSTED
            .withDescription(
                "the message is larger, decompressed, than %d bytes, as server.max-request-size allows"
                    .formatted(maxBytes))
            .asRuntimeException();
      }
      return read;
    }

    @Override
    public void close() throws IOException {
      if (inflater != null) {
        inflater.close();
      }
    }
  }
}
