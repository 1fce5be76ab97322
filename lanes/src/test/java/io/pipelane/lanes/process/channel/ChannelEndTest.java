package io.pipelane.lanes.process.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChannelEndTest {
  private static final PlacedTensor OUTPUT =
      new PlacedTensor(0, TensorType.FP32, Shape.of(2, 3), 256, 24);

  private final MemorySegment memory = Arena.ofAuto().allocate(ChannelEnd.BYTES, 4096);
  private final ChannelEnd server = ChannelEnd.ofServer(memory);
  private final ChannelEnd worker = ChannelEnd.ofWorker(memory);

  private static Message.Ran ran(int outputs) {
    SegmentTimes times = SegmentTimes.of(new long[1 << 10]);
    return new Message.Ran(1, 2, 3, times, false, Collections.nCopies(outputs, OUTPUT));
  }

  @Test
  void offer_answerOfManyOutputsAndTimes_fitsWithoutTheTimesOrNotAtAll() {
    int outputs = 1;
    while (worker.offer(ran(outputs))) {
      assertEquals(ran(outputs), server.poll());
      outputs++;
    }
    assertNull(server.poll());
    assertTrue(worker.offer(ran(outputs).withoutTimes()));
    assertEquals(
        new Message.Ran(1, 2, 3, SegmentTimes.NONE, false, ran(outputs).outputs()), server.poll());
    assertFalse(worker.offer(ran(4 * outputs).withoutTimes()));
    assertTrue(worker.offer(new Message.Noted(List.of("still heard"))));
    assertEquals(new Message.Noted(List.of("still heard")), server.poll());
  }
}
