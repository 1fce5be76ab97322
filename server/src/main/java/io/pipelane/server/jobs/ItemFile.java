package io.pipelane.server.jobs;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Items, one a line; blank lines are none. Belongs to one thread. */
final class ItemFile implements AutoCloseable {
  private static final int BUFFER_BYTES = 1 << 16;

  private final InputStream lines;
  private final int mostBytes;
  private long position;

  /** One item. */
  static final class Item {
    private final byte[] text;
    private final boolean isTooLong;
    private final long next;

    private Item(byte[] text, boolean isTooLong, long next) {
      this.text = text;
      this.isTooLong = isTooLong;
      this.next = next;
    }

    /** Its line; no more than the first bytes of one that is too long. */
    byte[] text() {
      return text;
    }

    boolean isTooLong() {
      return isTooLong;
    }

    /** Where the item behind it begins. */
    long next() {
      return next;
    }
  }

  /**
   * Opens a file.
   *
   * @param position where the next item begins
   * @param mostBytes of one item
   */
  ItemFile(Path file, long position, int mostBytes) throws IOException {
    FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
    channel.position(position);
    this.lines = new BufferedInputStream(Channels.newInputStream(channel), BUFFER_BYTES);
    this.position = position;
    this.mostBytes = mostBytes;
  }

  /** The next item; null at the end. */
  @Nullable Item next() throws IOException {
    while (true) {
      ByteArrayOutputStream line = new ByteArrayOutputStream(256);
      boolean isTooLong = false;
      int next = lines.read();
      if (next < 0) {
        return null;
      }
      boolean isBlank = true;
      for (; next >= 0 && next != '\n'; next = lines.read()) {
        position++;
        isBlank &= next == ' ' || next == '\t' || next == '\r';
        if (line.size() < mostBytes) {
          line.write(next);
        } else {
          isTooLong = true;
        }
      }
      position += next < 0 ? 0 : 1;
      if (!isBlank) {
        return new Item(line.toByteArray(), isTooLong, position);
      }
    }
  }

  @Override
  public void close() throws IOException {
    lines.close();
  }
}
