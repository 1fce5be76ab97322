package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/** The unpacking of ZIP files that strangers have made. */
final class ZipFolder {
  private static final int MAXIMUM_ENTRIES = 1_000;

  /** A thousand entries with long names and all that belongs to them; it is read into memory. */
  private static final long MAXIMUM_DIRECTORY_BYTES = 4L << 20;

  private static final int PIECE = 64 << 10;

  private ZipFolder() {}

  /**
   * Unpacks into an empty folder; only regular files inside it come of it.
   *
   * @param limit of all files together, unpacked
   * @return how many files have come of it, one at least
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a file that is none, is damaged, or
   *     leads out of the folder; {@link Status#TOO_LARGE} beyond the limit
   */
  static int unpack(Path packed, Path folder, ByteSize limit) throws IOException {
    long directory = ZipDirectory.claimedBytes(packed);
    if (directory > MAXIMUM_DIRECTORY_BYTES) {
      throw refused(
          "its central directory is said to have %d bytes, at most %d"
              .formatted(directory, MAXIMUM_DIRECTORY_BYTES));
    }
    try (ZipFile zip = new ZipFile(packed.toFile())) {
      if (zip.size() > MAXIMUM_ENTRIES) {
        throw refused("it has " + zip.size() + " entries, at most " + MAXIMUM_ENTRIES);
      }
      List<? extends ZipEntry> entries = zip.stream().toList();
      SentPaths paths = new SentPaths(folder, ZipFolder::refused);
      long left = limit.bytes();
      int files = 0;
      for (ZipEntry entry : entries) {
        Path target = paths.of(entry.getName());
        if (entry.isDirectory()) {
          paths.createFolder(target);
          continue;
        }
        paths.createFolderOf(target);
        try (InputStream stream = zip.getInputStream(entry)) {
          left -= copy(stream, entry, target, left);
        }
        files++;
      }
      if (files == 0) {
        throw refused("it has no files");
      }
      return files;
    } catch (ZipException | EOFException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "the ZIP file cannot be read: " + e.getMessage(), e);
    }
  }

  /**
   * Writes one entry, as far as its bytes are those that the file says: {@link ZipFile} looks at
   * neither their number nor their checksum.
   *
   * @param limit of its bytes; what an entry says of its own size is not believed
   * @return the bytes that were copied
   */
  private static long copy(InputStream stream, ZipEntry entry, Path target, long limit)
      throws IOException {
    CRC32 checksum = new CRC32();
    byte[] piece = new byte[PIECE];
    long copied = 0;
    try (FileChannel file =
        FileChannel.open(target, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      for (int bytes = stream.read(piece); bytes >= 0; bytes = stream.read(piece)) {
        copied += bytes;
        if (copied > limit) {
          throw new StatusException(
              Status.TOO_LARGE, "the ZIP file unpacks to more than repository.upload-limit");
        }
        checksum.update(piece, 0, bytes);
        ByteBuffer buffer = ByteBuffer.wrap(piece, 0, bytes);
        while (buffer.hasRemaining()) {
          file.write(buffer);
        }
      }
      file.force(true);
    } catch (FileAlreadyExistsException e) {
      throw refused("two of its entries are named " + target.getFileName());
    }
    if (copied != entry.getSize() || checksum.getValue() != entry.getCrc()) {
      throw refused(
          "its entry \"%s\" is damaged: %d bytes with the CRC-32 %08x came of %d with %08x"
              .formatted(
                  entry.getName(), copied, checksum.getValue(), entry.getSize(), entry.getCrc()));
    }
    return copied;
  }

  private static StatusException refused(String reason) {
    return new StatusException(Status.INVALID_ARGUMENT, "the ZIP file is refused: " + reason);
  }
}
