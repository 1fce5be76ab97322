package io.pipelane.modelstore.repository;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/** Unpacks ZIP files that strangers have made. */
final class ZipFolder {
  private static final int MAXIMUM_ENTRIES = 1_000;
  private static final int PIECE = 64 << 10;

  private ZipFolder() {}

  /**
   * Unpacks into an empty folder; only regular files inside it come of it.
   *
   * @param limit of all files together, unpacked
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a file that is none, or leads out
   *     of the folder; {@link Status#TOO_LARGE} beyond the limit
   */
  static void unpack(Path packed, Path folder, ByteSize limit) throws IOException {
    try (ZipFile zip = new ZipFile(packed.toFile())) {
      if (zip.size() > MAXIMUM_ENTRIES) {
        throw refused("it has " + zip.size() + " entries, at most " + MAXIMUM_ENTRIES);
      }
      List<? extends ZipEntry> entries = zip.stream().toList();
      long left = limit.bytes();
      for (ZipEntry entry : entries) {
        Path target = target(folder, entry.getName());
        if (entry.isDirectory()) {
          Files.createDirectories(target);
          continue;
        }
        createParent(target);
        try (InputStream stream = zip.getInputStream(entry)) {
          left -= copy(stream, target, left);
        }
      }
    } catch (ZipException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "the ZIP file cannot be read: " + e.getMessage(), e);
    }
  }

  private static void createParent(Path file) throws IOException {
    Path parent = file.getParent();
    if (parent != null) {
      Files.createDirectories(parent);
    }
  }

  private static Path target(Path folder, String name) {
    Path target;
    try {
      target = folder.resolve(name).normalize();
    } catch (InvalidPathException e) {
      throw refused("the name of one of its entries is no path");
    }
    if (name.indexOf('\\') >= 0 || !target.startsWith(folder) || target.equals(folder)) {
      throw refused("its entry \"" + name + "\" does not lie inside its folder");
    }
    return target;
  }

  /** The bytes that were copied; what an entry says of its own size is not believed. */
  private static long copy(InputStream stream, Path target, long limit) throws IOException {
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
        ByteBuffer buffer = ByteBuffer.wrap(piece, 0, bytes);
        while (buffer.hasRemaining()) {
          file.write(buffer);
        }
      }
      file.force(true);
    } catch (FileAlreadyExistsException e) {
      throw refused("two of its entries are named " + target.getFileName());
    }
    return copied;
  }

  private static StatusException refused(String reason) {
    return new StatusException(Status.INVALID_ARGUMENT, "the ZIP file is refused: " + reason);
  }
}
