package io.pipelane.server.jobs;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The progress of a job. Row {@code i} of its output is item {@code i}'s.
 *
 * @param number how many of these the job has committed before
 * @param rows items that have their row
 * @param failed those of them whose row is an error
 * @param outputBytes length of these rows
 * @param inputBytes where the next item begins
 */
record Progress(long number, long rows, long failed, long outputBytes, long inputBytes) {
  static final Progress NONE = new Progress(0, 0, 0, 0, 0);

  /** What it takes in a file. */
  static final int BYTES = 6 * Long.BYTES;

  /** The same with one row more, not committed yet. */
  Progress withRow(boolean hasFailed, int rowBytes, long nextItem) {
    return new Progress(
        number, rows + 1, failed + (hasFailed ? 1 : 0), outputBytes + rowBytes, nextItem);
  }

  /** The same, to be committed. */
  Progress committed() {
    return new Progress(number + 1, rows, failed, outputBytes, inputBytes);
  }

  ByteBuffer encoded() {
    ByteBuffer bytes = ByteBuffer.allocate(BYTES);
    bytes.putLong(number).putLong(rows).putLong(failed).putLong(outputBytes).putLong(inputBytes);
    return bytes.putLong(checksum(bytes)).flip();
  }

  /** Reads it back; empty when it was not written to its end. */
  static Optional<Progress> decoded(ByteBuffer bytes) {
    if (bytes.remaining() < BYTES || checksum(bytes) != bytes.getLong(BYTES - Long.BYTES)) {
      return Optional.empty();
    }
    return Optional.of(
        new Progress(
            bytes.getLong(0),
            bytes.getLong(8),
            bytes.getLong(16),
            bytes.getLong(24),
            bytes.getLong(32)));
  }

  private static long checksum(ByteBuffer bytes) {
    CRC32C checksum = new CRC32C();
    checksum.update(bytes.duplicate().position(0).limit(BYTES - Long.BYTES));
    return checksum.getValue() | 1L << 32; // A file of zeros is no progress.
  }
}
