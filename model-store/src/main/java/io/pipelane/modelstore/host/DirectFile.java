package io.pipelane.modelstore.host;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * A file read past the page cache: the disk writes into the memory that is asked to have it. What
 * the page cache has already comes from there, and so does everything where the file system reads
 * nothing past it. Safe for any thread.
 */
public final class DirectFile implements AutoCloseable {
  private static final long LOOK_BYTES = 1 << 20;

  private final FileChannel buffered;
  private final @Nullable FileChannel direct;
  private final long blockBytes;

  private DirectFile(FileChannel buffered, @Nullable FileChannel direct, long blockBytes) {
    this.buffered = buffered;
    this.direct = direct;
    this.blockBytes = blockBytes;
  }

  /**
   * Opens a file.
   *
   * @throws IOException when it cannot be read
   */
  public static DirectFile open(Path file) throws IOException {
    return open(file, !isCached(file));
  }

  /** Reads past the page cache even what it has. */
  static DirectFile openDirectly(Path file) throws IOException {
    return open(file, true);
  }

  private static DirectFile open(Path file, boolean directly) throws IOException {
    FileChannel buffered = FileChannel.open(file, StandardOpenOption.READ);
    long blockBytes = directly ? blockBytes(file) : 0;
    return new DirectFile(buffered, blockBytes > 0 ? openDirect(file) : null, blockBytes);
  }

  /** Of the file system; 0 where that does not say. */
  private static long blockBytes(Path file) {
    try {
      return Files.getFileStore(file).getBlockSize();
    } catch (IOException | UnsupportedOperationException e) {
      return 0;
    }
  }

  /**
   * Whether all of it is; the first part that is not ends the look, which takes 2.8 ms of 240 MB.
   */
  private static boolean isCached(Path file) throws IOException {
    try (MappedFile mapped = MappedFile.map(file)) {
      MemorySegment all = mapped.memory();
      for (long at = 0; at < all.byteSize(); at += LOOK_BYTES) {
        if (!all.asSlice(at, Math.min(LOOK_BYTES, all.byteSize() - at)).isLoaded()) {
          return false;
        }
      }
      return true;
    }
  }

  private static @Nullable FileChannel openDirect(Path file) {
    try {
      return FileChannel.open(file, StandardOpenOption.READ, pastThePageCache());
    } catch (IOException | UnsupportedOperationException e) {
      return null;
    }
  }

  /** The option of the JDK that is in none of its standard interfaces. */
  public static OpenOption pastThePageCache() throws IOException {
    try {
      Class<?> options = Class.forName("com.sun.nio.file.ExtendedOpenOption");
      return (OpenOption) options.getField("DIRECT").get(null);
    } catch (ReflectiveOperationException e) {
      throw new IOException("this JDK cannot read past the page cache", e);
    }
  }

  /** Whether reads go past the page cache. */
  boolean isDirect() {
    return direct != null;
  }

  /**
   * Fills memory with the bytes from an offset on.
   *
   * @param target native; what of it is no whole block of the file system's, at a block's address
   *     for a block's offset, comes by way of the page cache
   * @throws IOException when the file ends before that, or cannot be read
   */
  public void read(long offset, MemorySegment target) throws IOException {
    long done = direct == null ? 0 : readBlocks(direct, offset, target);
    fill(buffered, offset + done, target.asSlice(done));
  }

  /** Reads what is whole blocks; answers how many bytes that were. */
  private long readBlocks(FileChannel from, long offset, MemorySegment target) throws IOException {
    long blocks = target.byteSize() / blockBytes * blockBytes;
    if (offset % blockBytes != 0 || target.address() % blockBytes != 0 || blocks == 0) {
      return 0;
    }
    try {
      fill(from, offset, target.asSlice(0, blocks));
      return blocks;
    } catch (EOFException e) {
      throw e;
    } catch (IOException e) {
      return 0; // Some file systems open files so, and then refuse to read them; others can tell.
    }
  }

  private static void fill(FileChannel channel, long offset, MemorySegment target)
      throws IOException {
    ByteBuffer buffer = target.asByteBuffer();
    while (buffer.hasRemaining()) {
      int count = channel.read(buffer, offset + buffer.position());
      if (count <= 0) {
        throw new EOFException("the file ends at byte %d".formatted(offset + buffer.position()));
      }
    }
  }

  @Override
  public void close() throws IOException {
    try {
      buffered.close();
    } finally {
      if (direct != null) {
        direct.close();
      }
    }
  }
}
