package io.pipelane.server.cli;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongConsumer;

/** A file's content that tells how much of it has been read. */
final class CountedStream extends FilterInputStream {
  private final LongConsumer told;
  private long bytes;

  private CountedStream(InputStream content, LongConsumer told) {
    super(content);
    this.told = told;
  }

  /** Opens a file; {@code told} is called after each read with the bytes so far. */
  static InputStream open(Path file, LongConsumer told) {
    try {
      return new CountedStream(Files.newInputStream(file), told);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public int read() throws IOException {
    int read = super.read();
    count(read < 0 ? 0 : 1);
    return read;
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    int read = super.read(target, offset, length);
    count(Math.max(0, read));
    return read;
  }

  private void count(int more) {
    bytes += more;
    told.accept(bytes);
  }
}
