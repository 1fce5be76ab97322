package io.pipelane.lanes.cuda.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.lanes.cuda.driver.StreamGate;
import io.pipelane.modelstore.MemorySource;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How far the copy stream has come, and how little of it is enqueued at a time. */
@Tag("gpu")
@Timeout(60)
@SuppressWarnings("NullAway.Init") // open() fills the fields.
class StreamProgressTest {
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final ByteSize PAGE = ByteSize.ofMebibytes(2);
  private static final long LARGE = 1L << 30;
  private static final long MOST_IN_FLIGHT = 16L << 20;

  private CudaDevice device;
  private CudaStream stream;
  private StreamProgress progress;
  private PinnedHostMemory host;

  @BeforeEach
  void open() {
    device = CudaDevice.open(GpuTests.driverOrSkip(), 0, ByteSize.ofMebibytes(1024), PAGE);
    device.context().bind();
    stream = CudaStream.open(device.context());
    progress = new StreamProgress(stream);
    host = PinnedHostMemory.allocate(device.context(), MOST_IN_FLIGHT);
  }

  @AfterEach
  void close() {
    if (device != null) {
      device.context().bind();
      stream.synchronize();
      host.close();
      progress.close();
      stream.close();
      device.close();
    }
  }

  private long allocated(long bytes) {
    return device.persistent().open("test", MOST_IN_FLIGHT).allocate(bytes);
  }

  @Test
  void marks_areNumberedAndReachedInTheirOrder() {
    try (StreamGate gate = new StreamGate(device.context())) {
      assertEquals(1, progress.mark());
      assertTrue(progress.await(1, LIMIT_NANOS));
      gate.hold(stream);
      assertEquals(2, progress.mark());
      assertEquals(3, progress.mark());
      assertTrue(progress.reached(1));
      assertFalse(progress.reached(2));
      assertFalse(progress.await(3, 1));
      gate.release();
      assertTrue(progress.await(3, LIMIT_NANOS));
      assertTrue(progress.reached(2));
      assertFalse(progress.reached(4), "nobody has enqueued that yet");
    }
  }

  @Test
  void reached_meansThatWhatWasCopiedIsSeen() {
    long place = allocated(Long.BYTES);
    for (long round = 1; round <= 1_000; round++) {
      host.segment().set(ValueLayout.JAVA_LONG, 0, round);
      stream.copyToDevice(place, host.address(), Long.BYTES);
      stream.copyToHost(host.address() + Long.BYTES, place, Long.BYTES);
      assertTrue(progress.await(progress.mark(), LIMIT_NANOS));
      assertEquals(round, host.segment().get(ValueLayout.JAVA_LONG, Long.BYTES));
    }
  }

  @Test
  void awaitRoom_atATransfersBeginning_isAtOnceForTwoPieces() {
    try (StreamGate gate = new StreamGate(device.context())) {
      gate.hold(stream);
      InFlight inFlight = new InFlight(progress);
      assertEquals(100, inFlight.awaitRoom(100), "what remains is less than a piece");
      long first = inFlight.awaitRoom(LARGE);
      inFlight.add(first);
      long second = inFlight.awaitRoom(LARGE);
      assertFalse(progress.reached(1));
      assertTrue(first + second <= MOST_IN_FLIGHT, first + " and " + second);
    }
  }

  @Test
  void awaitRoom_twoPiecesOnTheirWay_waitsForTheOlder() throws InterruptedException {
    long place = allocated(MOST_IN_FLIGHT);
    try (StreamGate gate = new StreamGate(device.context())) {
      gate.hold(stream);
      InFlight inFlight = new InFlight(progress);
      for (int i = 0; i < 2; i++) {
        long piece = inFlight.awaitRoom(LARGE);
        stream.copyToDevice(place, host.address(), piece);
        inFlight.add(piece);
      }
      boolean[] olderThere = new boolean[1];
      Thread waiting =
          Thread.ofPlatform()
              .start(
                  () -> {
                    device.context().bind();
                    inFlight.awaitRoom(LARGE);
                    olderThere[0] = progress.reached(1);
                  });
      assertFalse(progress.reached(1));
      gate.release();
      waiting.join();
      assertTrue(olderThere[0]);
    }
  }

  @Test
  void copyOnTheBusyStream_isDoneManyTimesBeforeALargeTransferIs() {
    long place = allocated(Long.BYTES);
    AddressRange range = device.reserve(LARGE);
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    device.awaitMappings();
    try (PinnedHostMemory weights = PinnedHostMemory.allocate(device.context(), LARGE);
        CudaMark done = CudaMark.untimed(device.context())) {
      DeviceEvent transfer =
          device.copies().copy(new MemorySource(weights.segment()), 0, range, 0, LARGE);
      int small = 0;
      try {
        Optional<CudaStream> busy = device.busyCopyStream();
        while (busy.isPresent() && !transfer.isDone()) {
          busy.get().copyToDevice(place, host.address(), Long.BYTES);
          busy.get().record(done);
          done.await();
          small++;
          busy = device.busyCopyStream();
        }
      } finally {
        transfer.await(); // It reads the weights until then.
      }
      assertTrue(small >= 5, small + " small copies were done while a large one was under way");
    }
  }
}
