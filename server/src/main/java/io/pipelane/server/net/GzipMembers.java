package io.pipelane.server.net;

import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;

/**
 * A stream that decompresses gzip of any number of members. Java's own calls itself for each member
 * that stands for nothing, so that very many of them exhaust a thread's stack.
 */
public final class GzipMembers extends GZIPInputStream {
  private boolean isReading;

  /**
   * Begins, and reads the first member's header.
   *
   * @param pieceBytes how many bytes are asked of the stream below at a time
   * @throws IOException when it cannot be read or is no gzip
   */
  public GzipMembers(InputStream compressed, int pieceBytes) throws IOException {
    super(compressed, pieceBytes);
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    if (isReading) {
      return 0; // The call for the next member, which the loop below reads.
    }
    isReading = true;
    try {
      int bytes;
      do {
        bytes = super.read(target, offset, length);
      } while (bytes == 0 && length > 0);
      return bytes;
    } finally {
      isReading = false;
    }
  }
}
