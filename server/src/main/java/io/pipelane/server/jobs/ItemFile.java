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

/** Items, one a line, over and over; blank lines are none. Belongs to one thread. */
final class ItemFile implements AutoCloseable {
  private static final int BUFFER_BYTES = 1 << 16;

  private final FileChannel channel;
  private final long fileBytes;
  private final long passes;
  private final int mostBytes;
  private InputStream lines;
  private long pass;
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

    /** Where the item behind it begins, with all passes before. */
    long next() {
      return next;
    }
  }

  /**
   * Opens a file.
   *
   * @param fileBytes what counts of it: what is behind that came later
   * @param position where the next item begins, with all passes before
   * @param mostBytes of one item
   * @param passes how often the file is gone through
   */
  ItemFile(Path file, long fileBytes, long position, int mostBytes, long passes)
      throws IOException {
    this.channel = FileChannel.open(file, StandardOpenOption.READ);
    this.fileBytes = fileBytes;
    this.passes = passes;
    this.mostBytes = mostBytes;
    this.lines = from(fileBytes == 0 ? 0 : position % fileBytes);
    this.pass = fileBytes == 0 ? 0 : position / fileBytes;
  }

  private InputStream from(long place) throws IOException {
    position = place;
    channel.position(place);
    return new BufferedInputStream(Channels.newInputStream(channel), BUFFER_BYTES);
  }

  /** The next item; null at the end of the last pass. */
  @Nullable Item next() throws IOException {
    if (pass >= passes) {
      return null;
    }
    @Nullable Item item = nextOfPass();
    // A whole pass without an item shows that there is none, so one more is enough.
    if (item == null && pass + 1 < passes) {
      pass++;
      lines = from(0);
      item = nextOfPass();
    }
    return item;
  }

  private @Nullable Item nextOfPass() throws IOException {
    while (true) {
      ByteArrayOutputStream line = new ByteArrayOutputStream(256);
      boolean isTooLong = false;
      int next = read();
      if (next < 0) {
        return null;
      }
      boolean isBlank = true;
      for (; next >= 0 && next != '\n'; next = read()) {
        isBlank &= next == ' ' || next == '\t' || next == '\r';
        if (line.size() < mostBytes) {
          line.write(next);
        } else {
          isTooLong = true;
        }
      }
      if (!isBlank) {
        return new Item(line.toByteArray(), isTooLong, pass * fileBytes + position);
      }
    }
  }

  private int read() throws IOException {
    int next = position < fileBytes ? lines.read() : -1;
    position += next < 0 ? 0 : 1;
    return next;
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
