package io.pipelane.modelstore;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * Files that are there whole, or as they were before, whenever the machine stops: each is written
 * beside its place, flushed, and renamed. One writer at a time for each.
 */
public final class WholeFile {
  /** What the name of a file ends with that is not whole; it may be left by who stopped. */
  public static final String DRAFT = ".new";

  private WholeFile() {}

  /** The writer of what a file is to hold. */
  @FunctionalInterface
  public interface Content {
    /** Writes all of it from the channel's place on. */
    void writeTo(FileChannel channel) throws IOException;
  }

  /** Writes a file, in place of an earlier one; a draft that cannot be finished goes. */
  public static void write(Path file, byte[] content) throws IOException {
    write(
        file,
        channel -> {
          ByteBuffer bytes = ByteBuffer.wrap(content);
          while (bytes.hasRemaining()) {
            channel.write(bytes);
          }
        });
  }

  /** The same of a content that need not be in memory as a whole. */
  public static void write(Path file, Content content) throws IOException {
    Path draft = file.resolveSibling(file.getFileName() + DRAFT);
    try {
      try (FileChannel channel =
          FileChannel.open(
              draft,
              StandardOpenOption.CREATE,
              StandardOpenOption.TRUNCATE_EXISTING,
              StandardOpenOption.WRITE)) {
        content.writeTo(channel);
        channel.force(true);
      }
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException | RuntimeException e) {
      giveUp(draft, e);
      throw e;
    }
    flush(folderOf(file));
  }

  /** It may hold the room that somebody else waits for. */
  private static void giveUp(Path draft, Exception cause) {
    try {
      Files.deleteIfExists(draft);
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  /**
   * The folder that a file lies in.
   *
   * @throws IllegalArgumentException when it lies in none
   */
  public static Path folderOf(Path file) {
    Path folder = file.getParent();
    if (folder == null) {
      throw new IllegalArgumentException(file + " lies in no folder");
    }
    return folder;
  }

  /** Brings a folder's entries to disk. */
  public static void flush(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }
}
