package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a kernel reads from host memory is there, and nothing beside it. */
@Tag("gpu")
@Timeout(30)
class HostReaderTest {
  private static final long BYTES = 2 << 20;
  private static final long SEED = 11;

  private CudaContext context;
  private CudaStream stream;
  private HostReader reader;
  private VirtualMemory memory;
  private long address;
  private long handle;
  private PinnedHostMemory from;
  private PinnedHostMemory back;

  @BeforeEach
  void open() {
    CudaDriver driver = GpuTests.driverOrSkip();
    context = CudaContext.open(driver, 0);
    context.bind();
    stream = CudaStream.open(context);
    reader = HostReader.open(context).orElseThrow();
    memory = new VirtualMemory(context);
    address = memory.reserve(BYTES, BYTES);
    handle = memory.create(BYTES);
    memory.map(address, BYTES, handle);
    memory.allowAccess(address, BYTES);
    from = PinnedHostMemory.allocate(context, BYTES);
    back = PinnedHostMemory.allocate(context, BYTES);
    Random random = new Random(SEED);
    for (long at = 0; at < BYTES; at++) {
      from.segment().set(JAVA_BYTE, at, (byte) (1 + random.nextInt(255)));
    }
  }

  @AfterEach
  void close() {
    if (back != null) {
      stream.synchronize();
      from.close();
      back.close();
      memory.unmap(address, BYTES);
      memory.release(handle);
      memory.free(address, BYTES);
      stream.close();
      context.close();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0, 1048576",
    "0, 0, 1",
    "0, 0, 16",
    "256, 64, 602112",
    "256, 64, 602113",
    "512, 0, 262159",
    "1, 0, 4099",
    "0, 3, 65536",
    "0, 0, 2097152"
  })
  void bytesOfAnyNumberAndPlaceAreBrought(long to, long at, long bytes) {
    stream.fill(address, (byte) 0, BYTES);

    reader.read(stream, address + to, from.segment().address() + at, bytes);

    stream.copyToHost(back.segment().address(), address, BYTES);
    stream.synchronize();
    MemorySegment arrived = back.segment().asSlice(to, bytes);
    assertEquals(-1, arrived.mismatch(from.segment().asSlice(at, bytes)));
    assertZero(back.segment().asSlice(0, to));
    assertZero(back.segment().asSlice(to + bytes));
  }

  private static void assertZero(MemorySegment segment) {
    assertEquals(-1, segment.mismatch(MemorySegment.ofArray(new byte[(int) segment.byteSize()])));
  }
}
