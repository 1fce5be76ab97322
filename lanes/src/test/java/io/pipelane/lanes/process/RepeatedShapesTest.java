package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RepeatedShapesTest {
  private final RepeatedShapes shapes = new RepeatedShapes();

  private static Message.WarmUp run(int rows, long place, boolean captured) {
    PlacedTensor x =
        new PlacedTensor(0, TensorType.FP32, Shape.of(rows, 4), place, rows * 4L * Float.BYTES);
    return new Message.WarmUp(1, 0, 1 << 20, 1 << 10, captured, List.of(x), List.of(0));
  }

  @Test
  void ran_secondRunWhereverItsInputsLie_isNewsOnce() {
    assertEquals(Optional.empty(), shapes.ran(run(1, 0, false)));
    assertEquals(Optional.of(run(1, 256, false)), shapes.ran(run(1, 256, false)));
    assertEquals(Optional.empty(), shapes.ran(run(1, 0, false)));
    assertEquals(Optional.empty(), shapes.ran(run(2, 0, false)));
    assertEquals(List.of(run(1, 0, false)), shapes.all());
    assertEquals(4, shapes.runs());
  }

  @Test
  void ran_captured_isNewsAndStaysSo() {
    assertEquals(Optional.of(run(1, 0, true)), shapes.ran(run(1, 0, true)));
    Optional<Message.WarmUp> _ = shapes.ran(run(1, 0, false));
    assertEquals(List.of(run(1, 0, true)), shapes.all(), "replays are not told of as captures");
    shapes.forgetCaptures();
    assertEquals(List.of(run(1, 0, false)), shapes.all());
  }

  @Test
  void ran_strings_areNotRepeated() {
    PlacedTensor words = new PlacedTensor(0, TensorType.BYTES, Shape.of(1), 0, 9);
    Message.WarmUp run =
        new Message.WarmUp(1, 0, 1 << 20, 1 << 10, false, List.of(words), List.of(0));
    for (int i = 0; i < 3; i++) {
      assertEquals(Optional.empty(), shapes.ran(run));
    }
    assertEquals(List.of(), shapes.all());
  }

  @Test
  void all_manyShapes_areTheLatestFew() {
    for (int rows = 1; rows <= 200; rows++) {
      for (int i = 0; i < 2; i++) {
        Optional<Message.WarmUp> _ = shapes.ran(run(rows, 0, false));
      }
    }
    assertEquals(8, shapes.all().size());
    assertEquals(run(200, 0, false), shapes.all().getFirst());
    shapes.giveUp();
    assertEquals(List.of(), shapes.all());
    assertEquals(Optional.empty(), shapes.ran(run(200, 0, true)));
  }
}
