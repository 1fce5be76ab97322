package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class PlacedOutputsTest {
  private final PlacedOutputs outputs =
      new PlacedOutputs(
          new TransferBuffers(new TransferMemory(MemorySegment.NULL)),
          UnpooledByteBufAllocator.DEFAULT,
          8);

  @Test
  void place_whatIsWrittenThere_isTheOutputUntilItIsGivenBack() {
    MemorySegment place = outputs.place("y", TensorType.INT64, Shape.of(1), 8);
    place.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, 7);

    ByteBuf data = outputs.tensors().getFirst().data();
    assertEquals(7, data.getLongLE(0));
    assertEquals(8, data.readableBytes());
    outputs.release();
    assertEquals(0, data.refCnt());
    assertTrue(outputs.tensors().isEmpty());
  }

  @Test
  void place_ofNothing_isThereToo() {
    assertEquals(0, outputs.place("y", TensorType.INT64, Shape.of(0), 0).byteSize());
    outputs.release();
  }

  @Test
  void place_ofTooManyBytes_isRefusedByNameWithTheLimit() {
    StatusException refusal =
        assertThrows(
            StatusException.class, () -> outputs.place("y", TensorType.INT64, Shape.of(2), 16));
    assertEquals(Status.TOO_LARGE, refusal.status());
    assertEquals("output \"y\" has 16 bytes, the limit is 8", refusal.getMessage());
    assertTrue(outputs.tensors().isEmpty());
  }
}
