package io.pipelane.modelstore.repository;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The size of a ZIP file's central directory, as the file tells it: {@link java.util.zip.ZipFile}
 * reads the directory into memory as a whole, whatever its size.
 *
 * <p>The record that says it stands at the file's end, before a comment of any content. So every
 * place there that can be the record counts: one whose comment ends with the file, or in front of
 * which the directory begins. (APPNOTE.TXT, 4.3.14 to 4.3.16.)
 */
final class ZipDirectory {
  private static final int END = 0x06054b50;
  private static final int END_BYTES = 22;
  private static final int LONGEST_COMMENT = 0xffff;
  private static final int LOCATOR_64 = 0x07064b50;
  private static final int LOCATOR_64_BYTES = 20;
  private static final int END_64 = 0x06064b50;
  private static final int END_64_BYTES = 56;
  private static final int ENTRY = 0x02014b50;
  private static final long SAID_IN_64 = 0xffff_ffffL;

  private final FileChannel file;
  private final long length;

  private ZipDirectory(FileChannel file) throws IOException {
    this.file = file;
    this.length = file.size();
  }

  /** The most bytes that the central directory of a file may be said to have; 0 for no ZIP file. */
  static long claimedBytes(Path zip) throws IOException {
    try (FileChannel file = FileChannel.open(zip, StandardOpenOption.READ)) {
      return new ZipDirectory(file).claimedBytes();
    }
  }

  private long claimedBytes() throws IOException {
    long begin = Math.max(0, length - END_BYTES - LONGEST_COMMENT);
    ByteBuffer tail = read(begin, (int) (length - begin));
    long most = 0;
    for (int at = 0; at + END_BYTES <= tail.limit(); at++) {
      if (tail.getInt(at) == END) {
        long bytes = Integer.toUnsignedLong(tail.getInt(at + 12));
        int comment = Short.toUnsignedInt(tail.getShort(at + 20));
        if (bytes == SAID_IN_64) {
          most = Math.max(most, claimedBytes64(begin + at));
        } else if (at + END_BYTES + comment == tail.limit()
            || signature(begin + at - bytes) == ENTRY) {
          most = Math.max(most, bytes);
        }
      }
    }
    return most;
  }

  /** The same by the longer record that a locator in front of the short one leads to. */
  private long claimedBytes64(long end) throws IOException {
    long locator = end - LOCATOR_64_BYTES;
    if (signature(locator) != LOCATOR_64) {
      return 0;
    }
    long at = read(locator, LOCATOR_64_BYTES).getLong(8);
    if (signature(at) != END_64 || at > length - END_64_BYTES) {
      return 0;
    }
    long bytes = read(at, END_64_BYTES).getLong(40);
    return bytes < 0 ? Long.MAX_VALUE : bytes;
  }

  /** Four bytes; 0 outside the file. */
  private int signature(long at) throws IOException {
    return at < 0 || at > length - Integer.BYTES ? 0 : read(at, Integer.BYTES).getInt(0);
  }

  private ByteBuffer read(long at, int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (buffer.hasRemaining() && file.read(buffer, at + buffer.position()) >= 0) {}
    return buffer.flip();
  }
}
