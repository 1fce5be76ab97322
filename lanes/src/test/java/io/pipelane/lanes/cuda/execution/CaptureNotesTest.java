package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.execution.tensor.InputShapes;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CaptureNotesTest {
  private static Capture capture(long batch) {
    TensorSpec ids = new TensorSpec("ids", TensorType.INT64, Shape.of(batch, 128));
    TensorSpec mask = new TensorSpec("mask", TensorType.INT64, Shape.of(batch, 128));
    return new Capture(new InputShapes(List.of(mask, ids)), List.of(), 0, 0);
  }

  private static List<String> notes(CaptureSettings settings, Capture... captures) {
    return CaptureNotes.of(settings, List.of(captures), Optional.empty());
  }

  @Test
  void captured_tellsTheShapes() {
    assertEquals(
        List.of("captured for ids [1,128], mask [1,128]", "captured for ids [8,128], mask [8,128]"),
        notes(CaptureSettings.DEFAULT, capture(8), capture(1)));
  }

  @Test
  void notCaptured_tellsWhy() {
    assertEquals(
        List.of("not captured: an output is computed on the host"),
        CaptureNotes.of(
            CaptureSettings.DEFAULT, List.of(), Optional.of("an output is computed on the host")));
    assertEquals(
        List.of("not captured yet: shapes are captured at request 2 of the same"),
        notes(CaptureSettings.DEFAULT));
    assertEquals(List.of("not captured: capturing is switched off"), notes(CaptureSettings.NEVER));
  }

  @Test
  void givenUp_afterSomeWereCaptured_tellsBoth() {
    assertEquals(
        List.of("captured for ids [8,128], mask [8,128]", "not captured: it answers otherwise"),
        CaptureNotes.of(
            CaptureSettings.DEFAULT, List.of(capture(8)), Optional.of("it answers otherwise")));
  }
}
