package io.pipelane.server.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonGenerator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.util.internal.PlatformDependent;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.net.ScantMemory;
import io.pipelane.server.protocol.Json;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class DirectMemoryTest {
  private final ByteBuf buffer = new ScantMemory(1000).directBuffer(100);

  @Test
  void makeRoom_noneLeft_isAnErrorThatSaysForWhat() {
    DirectMemory.makeRoom(buffer.writeZero(100), 400);
    StatusException refusal =
        assertThrows(StatusException.class, () -> DirectMemory.makeRoom(buffer, 901));
    assertEquals(Status.UNAVAILABLE, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.startsWith("there is no room for 1001 bytes of a request"), message);
    assertTrue(DirectMemory.isBehind(refusal.saying("in other words")));
    assertFalse(DirectMemory.isBehind(StatusException.unavailable("of another memory")));
    buffer.release();
  }

  @Test
  void write_ofATextWithoutRoom_isRefused() {
    assertThrows(
        StatusException.class,
        () -> Json.write(buffer, json -> json.writeRaw("7".repeat(100_000))));
    buffer.release();
  }

  @Test
  void whatIsLarge_leavesASixthToWhatIsSmall() {
    buffer.release();
    long most = PlatformDependent.maxDirectMemory();
    StatusException refusal =
        assertThrows(StatusException.class, () -> DirectMemory.checkRoom(most - most / 6 + 1));
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("and %d are left to small ones".formatted(most / 6)), message);
    assertTrue(DirectMemory.isBehind(refusal));
  }

  @Test
  void writer_ofWhatNobodyWaitsForAnyMore_isStopped() {
    buffer.release();
    ByteBuf ample = UnpooledByteBufAllocator.DEFAULT.directBuffer();
    AtomicInteger looks = new AtomicInteger();
    StatusException end =
        assertThrows(
            StatusException.class,
            () -> Json.write(ample, () -> looks.incrementAndGet() > 2, this::writeForEver));
    assertEquals(Status.CANCELLED, end.status());
    ample.release();
  }

  private void writeForEver(JsonGenerator json) throws IOException {
    json.writeStartArray();
    while (true) {
      json.writeNumber(1);
    }
  }

  /** A lack of Java's heap is a fault of the server. */
  @Test
  void makeRoom_onTheHeap_failsAsJavaDoes() {
    buffer.release();
    ByteBuf heap =
        new UnpooledHeapByteBuf(UnpooledByteBufAllocator.DEFAULT, 10, 100) {
          @Override
          public ByteBuf capacity(int newCapacity) {
            throw new OutOfMemoryError("on purpose");
          }
        };
    assertThrows(OutOfMemoryError.class, () -> DirectMemory.makeRoom(heap, 20));
    heap.release();
  }

  /** It lies there for want of room elsewhere. */
  @Test
  void makeRoom_onTheHeapAboveWhatMayBeThere_isRefused() {
    buffer.release();
    ByteBuf heap = UnpooledByteBufAllocator.DEFAULT.heapBuffer(10, 100);
    DirectMemory.makeRoom(heap, 100);
    StatusException refusal =
        assertThrows(StatusException.class, () -> DirectMemory.makeRoom(heap, 101));
    assertEquals(Status.UNAVAILABLE, refusal.status());
    heap.release();
  }

  @Test
  void refused_moreThanThereCouldEverBe_isSaidSo() {
    buffer.release();
    StatusException refusal = DirectMemory.refused(Long.MAX_VALUE, new OutOfMemoryError());
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status());
  }
}
