package io.pipelane.lanes.cuda;

import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.lanes.process.worker.FaultyKernels;
import io.pipelane.modelstore.MemorySource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A program whose second GPU is lost while it lends its link to the first. It exits with 0 when
 * every copy to the first ends in time, well or not, and none brings wrong bytes. No process can
 * use a GPU any more in which a kernel has faulted, so this one ends.
 */
final class LostLender {
  private static final ByteSize PAGE = ByteSize.ofMebibytes(2);
  private static final int PAGES = 256;
  private static final int WARM_UPS = 3;
  private static final int COPIES = 12;
  private static final int FAULT_AT = 8;
  private static final long LIMIT_SECONDS = 20;

  private final CudaDevice receiver;
  private final CudaDevice lender;
  private final PinnedHostMemory weights;
  private final AddressRange range;

  private LostLender(CudaDriver driver) {
    receiver = open(driver, 0);
    lender = open(driver, 1);
    if (!receiver.borrowLink(lender)) {
      throw new IllegalStateException("the GPUs do not lend each other links");
    }
    weights = PinnedHostMemory.allocate(receiver.context(), PAGES * PAGE.bytes());
    MemorySegment bytes = weights.segment();
    for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
      bytes.set(ValueLayout.JAVA_LONG, at, at * 31);
    }
    range = receiver.reserve(PAGES * PAGE.bytes());
    for (int slot = 0; slot < PAGES; slot++) {
      range.map(slot, receiver.pages().take().orElseThrow());
    }
  }

  private static CudaDevice open(CudaDriver driver, int index) {
    return CudaDevice.open(driver, index, new ByteSize(PAGES * PAGE.bytes()), PAGE);
  }

  public static void main(String[] arguments) throws InterruptedException {
    LostLender program = new LostLender(CudaDriver.load());
    boolean well = true;
    for (int copy = 0; copy < COPIES && well; copy++) {
      if (copy == FAULT_AT) {
        program.loseLender(Integer.parseInt(arguments[0]));
      }
      well = program.copies(copy);
      well &= copy < WARM_UPS || copy > FAULT_AT || program.receiver.copies().borrowedBytes() > 0;
    }
    System.out.println(well ? "all copies ended" : "FAILED");
    Runtime.getRuntime().halt(well ? 0 : 1);
  }

  /** Some time from now, so that pieces are on their way. */
  private void loseLender(int afterMicros) {
    Thread.ofPlatform()
        .start(
            () -> {
              long begin = System.nanoTime();
              while (System.nanoTime() - begin < afterMicros * 1_000L) {
                Thread.onSpinWait();
              }
              CudaContext context = lender.context();
              context.bind();
              try {
                FaultyKernels.launchIllegal();
                System.out.println("the kernel is launched");
              } catch (RuntimeException e) {
                System.out.println("the kernel: " + e);
              }
            });
  }

  private boolean copies(int number) throws InterruptedException {
    long before = receiver.copies().borrowedBytes();
    clear();
    long begin = System.nanoTime();
    DeviceEvent event =
        receiver.copies().copy(new MemorySource(weights.segment()), 0, range, 0, bytes());
    CountDownLatch done = new CountDownLatch(1);
    event.whenDone(done::countDown);
    boolean ended = done.await(LIMIT_SECONDS, TimeUnit.SECONDS);
    long micros = (System.nanoTime() - begin) / 1_000;
    String outcome = ended ? outcome(event) : "NO END";
    long borrowed = (receiver.copies().borrowedBytes() - before) >> 20;
    System.out.printf("copy %d: %s, %d us, %d MiB borrowed%n", number, outcome, micros, borrowed);
    return ended && !outcome.startsWith("WRONG");
  }

  private String outcome(DeviceEvent event) {
    try {
      event.await();
    } catch (StatusException e) {
      return "failed: " + e.getMessage();
    }
    try {
      return hasAll() ? "right" : "WRONG";
    } catch (RuntimeException e) {
      return "cannot be read: " + e.getMessage();
    }
  }

  private void clear() {
    try {
      receiver.awaitMappings();
      receiver.context().bind();
      try (CudaStream stream = CudaStream.open(receiver.context())) {
        stream.fill(range.address(), (byte) 0, bytes());
        stream.synchronize();
      }
    } catch (RuntimeException e) {
      System.out.println("clearing: " + e.getMessage());
    }
  }

  private boolean hasAll() {
    receiver.context().bind();
    try (CudaStream stream = CudaStream.open(receiver.context());
        Arena arena = Arena.ofConfined()) {
      MemorySegment host = arena.allocate(bytes(), Long.BYTES);
      stream.copyToHost(host.address(), range.address(), bytes());
      stream.synchronize();
      return host.mismatch(weights.segment()) == -1;
    }
  }

  private static long bytes() {
    return PAGES * PAGE.bytes();
  }
}
