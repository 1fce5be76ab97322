package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.driver.CopyNode.MemoryType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import jcuda.driver.CUmemorytype;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;

/** The driver's objects on a device: streams, marks, graphs, virtual and pinned memory. */
@Tag("gpu")
@Timeout(30)
class CudaStreamTest {
  private static final long GRANULE = 2 << 20;

  private CudaDriver driver;
  private CudaContext context;
  private CudaStream stream;
  private VirtualMemory memory;
  private long address;
  private long handle;
  private PinnedHostMemory host;

  @BeforeEach
  void open() {
    driver = GpuTests.driverOrSkip();
    context = CudaContext.open(driver, 0);
    context.bind();
    stream = CudaStream.open(context);
    memory = new VirtualMemory(context);
    address = memory.reserve(2 * GRANULE, GRANULE);
    handle = memory.create(GRANULE);
    memory.map(address, GRANULE, handle);
    memory.allowAccess(address, GRANULE);
    host = PinnedHostMemory.allocate(context, GRANULE);
  }

  @AfterEach
  void close() {
    if (host != null) {
      stream.synchronize();
      host.close();
      memory.unmap(address, GRANULE);
      memory.release(handle);
      memory.free(address, 2 * GRANULE);
      stream.close();
      context.close();
    }
  }

  @Test
  void context_describesItsDevice() {
    assertFalse(context.deviceName().isBlank());
    assertTrue(context.multiprocessors() > 0);
    assertTrue(context.totalBytes() >= context.freeBytes());
    assertThrows(
        IllegalArgumentException.class, () -> CudaContext.open(driver, driver.deviceCount()));
    assertEquals(GRANULE, memory.granularity());
  }

  @Test
  void copies_thereWithinAndBack_keepTheBytes() {
    host.segment().set(JAVA_LONG, 0, 0x1234567890abcdefL);
    stream.copyToDevice(address, host.address(), 8);
    stream.copyWithin(address + 4096, address, 8);
    stream.fill(address + 4096, (byte) 0x7f, 1);
    stream.copyToHost(host.address() + 8, address + 4096, 8);
    stream.synchronize();
    assertEquals(0x1234567890abcd7fL, host.segment().get(JAVA_LONG, 8));
  }

  @Test
  void mapping_movedElsewhere_keepsTheContent() {
    stream.fill(address, (byte) 5, GRANULE);
    stream.synchronize();
    memory.unmap(address, GRANULE);
    memory.map(address + GRANULE, GRANULE, handle);
    memory.allowAccess(address + GRANULE, GRANULE);
    stream.copyToHost(host.address(), address + GRANULE, GRANULE);
    stream.synchronize();
    assertEquals(5, host.segment().get(JAVA_BYTE, GRANULE - 1));
    memory.unmap(address + GRANULE, GRANULE);
    memory.map(address, GRANULE, handle);
    memory.allowAccess(address, GRANULE);
  }

  @Test
  void marks_orderStreamsAndTellTime() {
    try (CudaStream other = CudaStream.open(context);
        CudaMark begin = CudaMark.timed(context);
        CudaMark end = CudaMark.timed(context);
        CudaMark copied = CudaMark.untimed(context)) {
      host.segment().fill((byte) 9);
      stream.record(begin);
      stream.copyToDevice(address, host.address(), GRANULE);
      stream.record(end);
      stream.record(copied);
      other.waitFor(copied);
      other.copyToHost(host.address(), address, GRANULE);
      other.synchronize();
      copied.await();
      assertTrue(copied.isDone());
      assertTrue(end.millisSince(begin) > 0);
      assertEquals(9, host.segment().get(JAVA_BYTE, 0));
    }
  }

  @Test
  void share_ofTheMultiprocessors_runsAndCaptures() {
    try (MultiprocessorShare share = MultiprocessorShare.open(context, 10)) {
      int all = context.multiprocessors();
      int some = share.multiprocessors();
      assertTrue(some * 10 >= all && some < all, some + " of " + all);
      try (CudaStream partial = CudaStream.open(context, share);
          CudaMark filled = CudaMark.untimed(context)) {
        partial.fill(address, (byte) 3, GRANULE);
        partial.record(filled);
        stream.waitFor(filled);
        stream.copyToHost(host.address(), address, GRANULE);
        stream.synchronize();
        assertEquals(3, host.segment().get(JAVA_BYTE, GRANULE - 1));
        partial.beginCapture();
        partial.fill(address, (byte) 4, GRANULE);
        try (CapturedGraph graph = partial.endCapture();
            ExecutableGraph executable = graph.instantiate()) {
          partial.launch(executable);
          partial.copyToHost(host.address(), address, GRANULE);
          partial.synchronize();
        }
        assertEquals(4, host.segment().get(JAVA_BYTE, 0));
      }
    }
  }

  /** What a further size costs beside its sessions. */
  @Test
  void sharesOfSeveralSizes_areThereAtOnceAndTakeLittle(TestReporter reporter) {
    long before = context.usedBytes();
    try (MultiprocessorShare small = MultiprocessorShare.open(context, 5);
        MultiprocessorShare usual = MultiprocessorShare.open(context, 10);
        MultiprocessorShare large = MultiprocessorShare.open(context, 20);
        CudaStream first = CudaStream.open(context, small);
        CudaStream second = CudaStream.open(context, usual);
        CudaStream third = CudaStream.open(context, large)) {
      assertTrue(small.multiprocessors() <= usual.multiprocessors());
      assertTrue(usual.multiprocessors() < large.multiprocessors());
      byte content = 10;
      for (CudaStream each : List.of(first, second, third, first)) {
        each.fill(address, ++content, GRANULE);
        each.copyToHost(host.address(), address, GRANULE);
        each.synchronize();
        assertEquals(content, host.segment().get(JAVA_BYTE, GRANULE - 1));
      }
      long taken = context.usedBytes() - before;
      reporter.publishEntry(
          "%d, %d and %d multiprocessors, bytes of device memory"
              .formatted(small.multiprocessors(), usual.multiprocessors(), large.multiprocessors()),
          Long.toString(taken));
      assertTrue(taken < 256L << 20, taken + " bytes");
    }
  }

  @Test
  void urgentStream_works() {
    try (CudaStream urgent = CudaStream.openUrgent(context)) {
      urgent.fill(address, (byte) 6, GRANULE);
      urgent.copyToHost(host.address(), address, GRANULE);
      urgent.synchronize();
      assertEquals(6, host.segment().get(JAVA_BYTE, 0));
    }
  }

  @Test
  void capture_whoseHostCopyIsReplaced_readsTheDevice() {
    host.segment().fill((byte) 1);
    stream.fill(address, (byte) 2, 64);
    stream.synchronize();
    stream.beginCapture();
    stream.copyToDevice(address + 4096, host.address(), 64);
    stream.copyToHost(host.address() + 4096, address + 4096, 64);
    try (CapturedGraph graph = stream.endCapture()) {
      assertEquals(2, graph.copies().size());
      assertFalse(graph.hasHostNodes());
      List<CopyNode> fromHost = graph.copies().stream().filter(CopyNode::isHostToDevice).toList();
      assertEquals(1, fromHost.size());
      CopyNode copy = fromHost.getFirst();
      assertEquals(MemoryType.HOST, copy.sourceType());
      assertEquals(host.address(), copy.source());
      assertEquals(address + 4096, copy.destination());
      assertEquals(64, copy.bytes());
      assertTrue(copy.isContiguous());
      graph.replaceSource(copy, address);
      assertTrue(graph.copies().stream().noneMatch(CopyNode::isHostToDevice));
      try (ExecutableGraph executable = graph.instantiate()) {
        stream.launch(executable);
        stream.synchronize();
        assertEquals(2, host.segment().get(JAVA_BYTE, 4096));
      }
    }
  }

  @Test
  void pinned_isWhatTheDriverKnows() {
    assertPinned(true, host.segment().asSlice(GRANULE - 1, 1));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment plain = arena.allocate(GRANULE, 4096);
      assertPinned(false, plain);
      try (PinnedHostMemory registered = PinnedHostMemory.register(context, plain)) {
        assertPinned(true, registered.segment());
      }
      assertPinned(false, plain);
    }
    assertPinned(false, MemorySegment.ofAddress(address).reinterpret(1));
  }

  private void assertPinned(boolean expected, MemorySegment memory) {
    assertEquals(expected, context.isPinned(memory));
    boolean known = context.memoryType(memory.address()) == CUmemorytype.CU_MEMORYTYPE_HOST;
    assertEquals(expected, known);
  }

  @Test
  void failure_namesTheCall() {
    CudaException failure = assertThrows(CudaException.class, () -> memory.create(GRANULE << 30));
    assertTrue(failure.isOutOfMemory(), failure.getMessage());
    assertTrue(String.valueOf(failure.getMessage()).startsWith("cuMemCreate("));
    CudaException bad = assertThrows(CudaException.class, () -> memory.map(address, 1, handle));
    assertTrue(bad.errorName().startsWith("CUDA_ERROR_"), bad.errorName());
  }
}
