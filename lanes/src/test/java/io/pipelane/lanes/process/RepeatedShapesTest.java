package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.process.channel.LaneMemory;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RepeatedShapesTest {
  private final RepeatedShapes shapes = new RepeatedShapes();
  private int asked;

  private static Message.WarmUp run(int rows, boolean captured) {
    PlacedTensor x =
        new PlacedTensor(0, TensorType.FP32, Shape.of(rows, 4), 0, rows * 4L * Float.BYTES);
    return new Message.WarmUp(
        1,
        0,
        new LaneMemory(LaneMemory.NOT_OPENED, 1 << 20, 1 << 10),
        captured,
        List.of(x),
        List.of(0));
  }

  private Optional<Message.WarmUp> ran(int rows, boolean captured) {
    InputTensor x = new InputTensor("x", TensorType.FP32, Shape.of(rows, 4), MemorySegment.NULL);
    return shapes.ran(
        List.of(x),
        captured,
        () -> {
          asked++;
          return run(rows, captured);
        });
  }

  @Test
  void ran_secondRun_isNewsOnceAndOnlyThenDescribed() {
    assertEquals(Optional.empty(), ran(1, false));
    assertEquals(Optional.of(run(1, false)), ran(1, false));
    assertEquals(Optional.empty(), ran(1, false));
    assertEquals(Optional.empty(), ran(2, false));
    assertEquals(Optional.empty(), ran(1, false));
    assertEquals(List.of(run(1, false)), shapes.all());
    assertEquals(5, shapes.runs());
    assertEquals(1, asked);
  }

  @Test
  void ran_captured_isNewsAndStaysSo() {
    assertEquals(Optional.of(run(1, true)), ran(1, true));
    assertEquals(Optional.empty(), ran(1, false));
    assertEquals(List.of(run(1, true)), shapes.all(), "replays are not told of as captures");
    shapes.forgetCaptures();
    assertEquals(List.of(run(1, false)), shapes.all());
  }

  @Test
  void ran_capturedLater_isNewsAgain() {
    assertEquals(Optional.empty(), ran(1, false));
    assertEquals(Optional.of(run(1, false)), ran(1, false));
    assertEquals(Optional.of(run(1, true)), ran(1, true));
    assertEquals(Optional.empty(), ran(1, true));
    assertEquals(List.of(run(1, true)), shapes.all());
  }

  @Test
  void ran_strings_areNotRepeated() {
    InputTensor words = new InputTensor("x", TensorType.BYTES, Shape.of(1), MemorySegment.NULL);
    for (int i = 0; i < 3; i++) {
      assertEquals(Optional.empty(), shapes.ran(List.of(words), false, () -> run(1, false)));
    }
    assertEquals(List.of(), shapes.all());
  }

  @Test
  void all_manyShapes_areTheLatestFew() {
    for (int rows = 1; rows <= 200; rows++) {
      for (int i = 0; i < 2; i++) {
        Optional<Message.WarmUp> _ = ran(rows, false);
      }
    }
    assertEquals(RepeatedShapes.MOST, shapes.all().size());
    assertEquals(run(200, false), shapes.all().getFirst());
  }

  @Test
  void costAWorker_twiceInARow_endsWarmUpsOfThatShape() {
    Optional<Message.WarmUp> _ = ran(1, true);
    Optional<Message.WarmUp> _ = ran(2, true);
    shapes.costAWorker(run(1, true));
    assertEquals(List.of(run(2, true), run(1, true)), shapes.all(), "it may have been the device");
    shapes.warmedUp(run(1, true));
    shapes.costAWorker(run(1, true));
    shapes.warmedUp(run(2, true)); // A sound one between two losses changes nothing.
    shapes.costAWorker(run(1, true));
    assertEquals(List.of(run(2, true)), shapes.all());
    assertEquals(Optional.empty(), ran(1, true));
    assertEquals(Optional.of(run(3, true)), ran(3, true));
  }
}
