package io.pipelane.lanes.process.channel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MessageTest {
  private static final PlacedTensor TENSOR =
      new PlacedTensor(1, TensorType.FP32, Shape.of(2, 3), 256, 24);
  private static final PlacedTensor STRINGS =
      new PlacedTensor(0, TensorType.BYTES, Shape.SCALAR, 0, 9);

  private static final LaneMemory LANE = new LaneMemory(42, 1L << 31, 1 << 20);
  private static final SegmentTimes TIMES = new SegmentTimes(List.of(0L, 1L << 33, 7L));

  static Stream<Message> messages() {
    return Stream.of(
        new Message.Build(7, new ExportedSlots(3, 256, 12), 99, 4096, 1 << 20, 1, 1L << 33),
        new Message.Close(7),
        new Message.Shrink(7),
        new Message.CaptureAgain(7),
        new Message.Tidy(),
        new Message.Check(),
        new Message.WarmUp(7, -1, LANE, true, List.of(TENSOR), List.of(0)),
        new Message.Run(
            7,
            LANE,
            List.of(TENSOR, STRINGS),
            List.of(TENSOR),
            Optional.of(new PlacedNumber(1L << 40, 12)),
            List.of(1, 0),
            1,
            List.of(new NumberedArrival(0, 7), new NumberedArrival(3, -7))),
        new Message.Grown(1 << 21),
        new Message.Placed(Message.Placed.IN_LANE),
        new Message.Place(3, TENSOR),
        new Message.Built(300, 400),
        new Message.Closed(),
        new Message.Shrunk(1L << 33),
        new Message.Grow(1000, 2000),
        new Message.Ran(2000, 5, 6, TIMES, true, List.of(STRINGS, TENSOR)),
        new Message.Ran(2000, 5, 6, SegmentTimes.NONE, false, List.of()),
        new Message.Finished(2000, 6, true, TIMES),
        new Message.WarmedUp(),
        new Message.Noted(List.of("erfasst für x [8,256]", "")),
        new Message.Failed(Status.INVALID_ARGUMENT, 0, 100, "größer als erlaubt"));
  }

  private static MemorySegment written(Message message) {
    MessageWriter writer = new MessageWriter().begin();
    message.write(writer);
    return writer.body();
  }

  @ParameterizedTest
  @MethodSource("messages")
  void message_writtenAndRead_isTheSame(Message message) {
    MemorySegment body = written(message);
    assertEquals(message, MessageType.read(MessageType.of(message), new MessageReader(body)));
  }

  @ParameterizedTest
  @MethodSource("messages")
  void message_cutOffAnywhereOrContinued_isAViolation(Message message) {
    MemorySegment body = written(message);
    int type = MessageType.of(message);
    for (long length = 0; length < body.byteSize(); length++) {
      MemorySegment part = body.asSlice(0, length);
      assertThrows(ProtocolException.class, () -> MessageType.read(type, new MessageReader(part)));
    }
    MemorySegment more = MemorySegment.ofArray(new byte[(int) body.byteSize() + 1]);
    more.copyFrom(body);
    assertThrows(ProtocolException.class, () -> MessageType.read(type, new MessageReader(more)));
  }

  @Test
  void tensor_sizeThatIsNotItsShapes_isAViolation() {
    for (PlacedTensor wrong :
        List.of(
            new PlacedTensor(0, TensorType.FP32, Shape.of(2, 3), 0, 23),
            new PlacedTensor(0, TensorType.FP32, Shape.of(Long.MAX_VALUE, 4), 0, 16),
            new PlacedTensor(0, TensorType.FP32, Shape.of(-1), 0, 4),
            new PlacedTensor(0, TensorType.FP32, Shape.of(1), -4, 4),
            new PlacedTensor(-1, TensorType.FP32, Shape.of(1), 0, 4))) {
      MemorySegment body =
          written(new Message.Ran(0, 0, 0, SegmentTimes.NONE, false, List.of(wrong)));
      int type = MessageType.of(new Message.Ran(0, 0, 0, SegmentTimes.NONE, false, List.of()));
      assertThrows(
          ProtocolException.class,
          () -> MessageType.read(type, new MessageReader(body)),
          wrong::toString);
    }
  }

  @Test
  void tensor_beyondTheRegion_isAViolation() {
    TENSOR.requireWithin(280);
    assertThrows(ProtocolException.class, () -> TENSOR.requireWithin(279));
    PlacedTensor far = new PlacedTensor(0, TensorType.BYTES, Shape.of(1), Long.MAX_VALUE, 8);
    assertThrows(ProtocolException.class, () -> far.requireWithin(1 << 20));
  }

  @Test
  void segmentTimes_thatCannotBeThoseOfARun_areAViolation() {
    assertArrayEquals(new long[] {3, 0, 4}, times(3, 0, 4).checked(3, 7));
    assertThrows(ProtocolException.class, () -> times(3, 0, 4).checked(2, 7), "too many");
    assertThrows(
        ProtocolException.class, () -> times(3, 0, 4).checked(3, 6), "longer than the run");
    assertThrows(
        ProtocolException.class, () -> times(Long.MAX_VALUE, 2).checked(2, 7), "no overflow");
    MemorySegment body = written(new Message.Finished(0, 0, false, times(3, -1)));
    int type = MessageType.of(new Message.Finished(0, 0, false, SegmentTimes.NONE));
    assertThrows(
        ProtocolException.class, () -> MessageType.read(type, new MessageReader(body)), "negative");
  }

  @Test
  void segmentTimes_ofMoreSegmentsThanAMessageHasRoomFor_areLeftOut() {
    assertEquals(SegmentTimes.NONE, SegmentTimes.of(new long[1025]));
    Message most = new Message.Finished(0, 0, false, SegmentTimes.of(new long[1024]));
    assertEquals(most, MessageType.read(MessageType.of(most), new MessageReader(written(most))));
  }

  private static SegmentTimes times(long... nanos) {
    return SegmentTimes.of(nanos);
  }

  @Test
  void text_longerThanAMessage_isCutOff() {
    Message.Failed failed = new Message.Failed(Status.INTERNAL, 0, 0, "x".repeat(1 << 20));
    Message read = MessageType.read(MessageType.of(failed), new MessageReader(written(failed)));
    assertTrue(read instanceof Message.Failed(_, _, _, String reason) && reason.length() > 1000);
  }

  @Test
  void area_ofAnotherVersion_isRefused() {
    try (WorkerArea area = WorkerArea.create("test", 1)) {
      area.check();
      long pid = ProcessHandle.current().pid();
      try (WorkerArea opened = WorkerArea.open(pid, area.descriptor(), 1)) {
        opened.check();
        opened.sayHello(WorkerArea.READY, "1.2.3");
        assertEquals(WorkerArea.READY, area.hello().value());
        assertEquals("1.2.3", area.helloText());
        try (SharedMemory header = SharedMemory.open(pid, area.descriptor(), 4096)) {
          header.segment().set(ValueLayout.JAVA_INT, 8, WorkerArea.VERSION + 1);
        }
        ProtocolException error = assertThrows(ProtocolException.class, opened::check);
        assertTrue(
            String.valueOf(error.getMessage()).contains("version " + (WorkerArea.VERSION + 1)),
            error.toString());
      }
    }
  }
}
