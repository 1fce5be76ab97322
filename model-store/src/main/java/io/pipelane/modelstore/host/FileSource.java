package io.pipelane.modelstore.host;

import io.pipelane.modelstore.WeightSource;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A lease on weights that are read from disk each time. */
final class FileSource implements WeightSource {
  private static final long CHUNK_BYTES = 1 << 26;

  private final FileChannel channel;
  private final long byteSize;

  private FileSource(FileChannel channel, long byteSize) {
    this.channel = channel;
    this.byteSize = byteSize;
  }

  static FileSource open(Path file) {
    try {
      FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
      return new FileSource(channel, channel.size());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public long byteSize() {
    return byteSize;
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    try {
      for (long done = 0; done < destination.byteSize(); ) {
        long chunk = Math.min(CHUNK_BYTES, destination.byteSize() - done);
        ByteBuffer buffer = destination.asSlice(done, chunk).asByteBuffer();
        int count = channel.read(buffer, offset + done);
        if (count < 0) {
          throw new EOFException("the weights end at byte " + byteSize);
        }
        done += count;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** In the page cache, that is. */
  @Override
  public boolean isInMemory(long offset, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      return channel.map(MapMode.READ_ONLY, offset, bytes, arena).isLoaded();
    } catch (IOException e) {
      return false; // Whoever reads will say why.
    }
  }

  @Override
  public void bringIntoMemory(long offset, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      channel.map(MapMode.READ_ONLY, offset, bytes, arena).load();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      // Nothing was written, so nothing is lost.
    }
  }
}
