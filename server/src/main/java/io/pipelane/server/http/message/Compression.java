package io.pipelane.server.http.message;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufInputStream;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.net.GzipMembers;
import io.pipelane.server.protocol.AnswerStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/** A coding of bodies (RFC 9110, section 8.4.1). Its work belongs off the event loops. */
public enum Compression {
  GZIP("gzip") {
    @Override
    InputStream reading(InputStream compressed) throws IOException {
      return new GzipMembers(compressed, PIECE);
    }

    @Override
    OutputStream writing(OutputStream target) throws IOException {
      return new GZIPOutputStream(target, PIECE) {
        {
          def.setLevel(Deflater.BEST_SPEED);
        }
      };
    }
  },
  DEFLATE("deflate") {
    @Override
    InputStream reading(InputStream compressed) {
      return new InflaterInputStream(compressed) {
        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
          int bytes = super.read(target, offset, length);
          if (bytes < 0 && inf.needsDictionary()) { // Told as the end of the body.
            throw new ZipException("it was compressed by a dictionary");
          }
          return bytes;
        }
      };
    }

    @Override
    OutputStream writing(OutputStream target) {
      return new DeflaterOutputStream(target, new Deflater(Deflater.BEST_SPEED), PIECE) {
        @Override
        public void close() throws IOException {
          try {
            super.close();
          } finally {
            def.end(); // Only one that it made itself is ended by the stream.
          }
        }
      };
    }
  };

  /** What is served, for error messages and headers. */
  static final String SERVED = "gzip, deflate";

  /** Smaller bodies are sent as they are. */
  public static final int LEAST_BYTES = 1 << 10;

  private static final int PIECE = 8 << 10;
  private static final long LIKELY_RATIO = 4;

  private final String coding;

  Compression(String coding) {
    this.coding = coding;
  }

  abstract InputStream reading(InputStream compressed) throws IOException;

  abstract OutputStream writing(OutputStream target) throws IOException;

  /** The coding that a Content-Encoding names; null for one that is not served. */
  static @Nullable Compression ofContent(String encoding) {
    String name = encoding.strip().toLowerCase(Locale.ROOT);
    return Stream.of(values())
        .filter(served -> name.equals(served.coding) || name.equals("x-" + served.coding))
        .findFirst()
        .orElse(null);
  }

  /** The first coding that an Accept-Encoding names and does not rule out; null for none. */
  public static @Nullable Compression accepted(String encodings) {
    for (String element : encodings.split(",", -1)) {
      String[] parts = element.split(";", 2);
      boolean ruledOut = parts.length == 2 && parts[1].strip().matches("[qQ]=0(\\.0*)?");
      Compression served = ruledOut ? null : ofContent(parts[0]);
      if (served != null) {
        return served;
      }
    }
    return null;
  }

  /** What a body of so many bytes stands for, most of the time. */
  public static int likelyBytes(int compressedBytes, int limit) {
    return (int) Math.min(limit, LIKELY_RATIO * compressedBytes);
  }

  /**
   * What a body stands for; the body stays the caller's.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is not of this coding, {@link
   *     Status#TOO_LARGE} when there is more than the limit; and what {@link DirectMemory} throws
   */
  public ByteBuf decompress(ByteBuf body, BodyLimit limit, ByteBufAllocator allocator) {
    ByteBuf target = DirectMemory.take(likelyBytes(body.readableBytes(), limit.bytes()), allocator);
    boolean done = false;
    try (InputStream stream = reading(new ByteBufInputStream(body.duplicate()))) {
      byte[] piece = new byte[PIECE];
      for (int bytes = stream.read(piece); bytes >= 0; bytes = stream.read(piece)) {
        if (bytes > limit.bytes() - target.readableBytes()) {
          throw limit.tooLarge("the decompressed body is");
        }
        DirectMemory.makeRoom(target, bytes);
        target.writeBytes(piece, 0, bytes);
      }
      done = true;
      return target;
    } catch (IOException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "the body is not of Content-Encoding " + coding, e);
    } finally {
      if (!done) {
        target.release();
      }
    }
  }

  /**
   * The same response with a compressed body; takes over the one given.
   *
   * @param unwanted whether nobody waits for it any more
   * @throws StatusException as {@link AnswerStream} does
   */
  public Response compress(
      Response response, ByteBufAllocator allocator, BooleanSupplier unwanted) {
    ByteBuf target = Response.newLargeBody(allocator);
    boolean done = false;
    try {
      writeCompressed(response, new AnswerStream(target, unwanted));
      done = true;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      response.release();
      if (!done) {
        target.release();
      }
    }
    List<String> fields =
        Stream.concat(response.fields().stream(), Stream.of("Content-Encoding: " + coding))
            .toList();
    return response.with(target, fields);
  }

  private void writeCompressed(Response response, OutputStream target) throws IOException {
    try (OutputStream stream = writing(target)) {
      copy(response.body(), stream);
      for (ByteBuf part : response.tail()) {
        copy(part, stream);
      }
    }
  }

  private static void copy(ByteBuf from, OutputStream to) throws IOException {
    from.getBytes(from.readerIndex(), to, from.readableBytes());
  }
}
