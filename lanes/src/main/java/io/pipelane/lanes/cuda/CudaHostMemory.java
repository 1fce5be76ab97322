package io.pipelane.lanes.cuda;

import io.pipelane.lanes.cpu.FilledMemory;
import io.pipelane.lanes.cpu.RecycledMemory;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.modelstore.host.Filling;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.host.ParallelFileReader;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * Host memory that every GPU reads at its link's speed, as it is pinned. Files that transfers
 * follow are read into memory that goes from one to the next ({@link FilledMemory}); others, which
 * are read in place, into memory that other processes could share.
 */
public final class CudaHostMemory implements HostMemory {
  private static final int READERS = 4;
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  private final FirstPinning<PinnedHostMemory> pinning;
  private final FilledMemory followed;
  private final int readers;

  /** Memory for the only device of the process, by its context. */
  public CudaHostMemory(CudaContext context) {
    this(List.of(context));
  }

  /**
   * Memory for all devices of the process.
   *
   * @param contexts theirs, which stay open as long as anything is loaded or kept; the first that
   *     can pins memory for all
   */
  public CudaHostMemory(List<CudaContext> contexts) {
    this.pinning = new FirstPinning<>(contexts.stream().map(CudaHostMemory::by).toList());
    this.followed = new FilledMemory(new RecycledMemory(pinning::apply));
    this.readers = Math.min(READERS, Runtime.getRuntime().availableProcessors());
  }

  private static Function<MemorySegment, PinnedHostMemory> by(CudaContext context) {
    return memory -> PinnedHostMemory.register(context, memory);
  }

  @Override
  public Loaded load(Path file, Filling filling) throws IOException {
    return followed.load(file, filling);
  }

  @Override
  public void keepWithin(long bytes) {
    followed.keepWithin(bytes);
  }

  @Override
  public boolean prepare(long bytes) {
    return followed.prepare(bytes);
  }

  @Override
  public long spareBytes() {
    return followed.spareBytes();
  }

  @Override
  public Loaded load(Path file) throws IOException {
    long bytes = Files.size(file);
    SharedMemory memory = SharedMemory.allocate("weights", Math.max(1, bytes));
    try {
      ParallelFileReader.read(file, memory.segment().asSlice(0, bytes), readers, new Filling());
      return new Pinned(memory, pinning.apply(memory.segment()), bytes, NUMBERS.incrementAndGet());
    } catch (IOException | RuntimeException | Error e) {
      memory.close();
      throw e;
    }
  }

  private record Pinned(SharedMemory all, PinnedHostMemory pin, long bytes, int number)
      implements Loaded {
    @Override
    public MemorySegment memory() {
      return all.segment().asSlice(0, bytes).asReadOnly();
    }

    @Override
    public Optional<Shared> shared() {
      return Optional.of(new Shared(number, all.descriptor()));
    }

    @Override
    public void close() {
      pin.close();
      all.close();
    }
  }
}
