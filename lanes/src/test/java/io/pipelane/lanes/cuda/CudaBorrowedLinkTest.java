package io.pipelane.lanes.cuda;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BorrowedLinkContract;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;

@Tag("gpu")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CudaBorrowedLinkTest extends BorrowedLinkContract {
  private static final ByteSize PAGE = ByteSize.ofMebibytes(2);

  /** Knows what is pinned. */
  private @Nullable CudaDriver driver;

  /** Keep the devices' contexts alive from test to test: creating them takes long. */
  private final List<CudaContext> contexts = new ArrayList<>();

  private final List<PinnedHostMemory> pinned = new ArrayList<>();

  @AfterAll
  void closeContexts() {
    pinned.forEach(PinnedHostMemory::close);
    contexts.forEach(CudaContext::close);
  }

  @Override
  protected Device open(int index, int pages) {
    if (driver == null) {
      driver = GpuTests.driverOrSkip();
    }
    int needed = Math.max(1, index) + 1;
    Assumptions.assumeTrue(
        driver.deviceCount() >= needed, "there are fewer than %d GPUs".formatted(needed));
    while (contexts.size() < needed) {
      contexts.add(CudaContext.open(driver, contexts.size()));
    }
    boolean reach = contexts.getFirst().canRead(contexts.get(Math.max(1, index)));
    Assumptions.assumeTrue(reach, "the GPUs cannot read each other's memory");
    return CudaDevice.open(driver, index, new ByteSize(PAGE.bytes() * pages), PAGE);
  }

  @Override
  protected WeightSource source(byte[] bytes) {
    PinnedHostMemory memory = PinnedHostMemory.allocate(contexts.getFirst(), bytes.length);
    pinned.add(memory);
    memory.segment().copyFrom(MemorySegment.ofArray(bytes));
    return new MemorySource(memory.segment());
  }

  @Override
  protected byte[] read(Device device, AddressRange range, long offset, int bytes) {
    CudaDevice cuda = (CudaDevice) device;
    cuda.awaitMappings();
    cuda.context().bind();
    try (CudaStream stream = CudaStream.open(cuda.context());
        Arena arena = Arena.ofConfined()) {
      MemorySegment host = arena.allocate(bytes);
      stream.copyToHost(host.address(), range.address() + offset, bytes);
      stream.synchronize();
      return host.toArray(ValueLayout.JAVA_BYTE);
    }
  }
}
