package io.pipelane.lanes.cpu;

import io.pipelane.modelstore.host.Filling;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.host.ParallelFileReader;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Host memory that files are read into past the page cache, by several threads; memory of files
 * that have gone is kept for those that come.
 */
public final class FilledMemory implements HostMemory {
  /*
   * The memory holds another file's bytes until it has been read into. Nobody sees them: who
   * follows has only what has come (Filling), and who leases what is loaded comes after the last
   * byte. A load that fails hands out nothing, and its readers have ended before the memory goes to
   * the next.
   */
  private static final int READERS = 4;

  private final RecycledMemory memory;
  private final int readers = Math.min(READERS, Runtime.getRuntime().availableProcessors());

  /** Reads files into memory, which is pinned once all has come. */
  public FilledMemory(RecycledMemory memory) {
    this.memory = memory;
  }

  @Override
  public Loaded load(Path file) throws IOException {
    return load(file, new Filling());
  }

  @Override
  public Loaded load(Path file, Filling filling) throws IOException {
    long bytes = Files.size(file);
    RecycledMemory.Taken taken = memory.take(Math.max(1, bytes));
    try {
      MemorySegment content = taken.memory().asSlice(0, bytes);
      // Reading takes new memory page by page, on several threads; pinning finds it there. Who
      // follows passes a staging buffer until then.
      ParallelFileReader.read(file, content, readers, filling);
      taken.pin();
      return new Filled(taken, content.asReadOnly());
    } catch (IOException | RuntimeException | Error e) {
      filling.end();
      taken.close();
      throw e;
    }
  }

  @Override
  public void keepWithin(long bytes) {
    memory.keepWithin(bytes);
  }

  @Override
  public boolean prepare(long bytes) {
    return memory.prepare(bytes);
  }

  @Override
  public long spareBytes() {
    return memory.freeBytes();
  }

  private record Filled(RecycledMemory.Taken taken, MemorySegment memory) implements Loaded {
    @Override
    public void close() {
      taken.close();
    }
  }
}
