package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

class FirstPinningTest {
  private static Function<MemorySegment, String> lost(String gpu) {
    return _ -> {
      throw new IllegalStateException(gpu + " is lost");
    };
  }

  @Test
  void memory_isPinnedByTheFirstThatCan() {
    FirstPinning<String> pinning =
        new FirstPinning<>(List.of(lost("first"), _ -> "second", _ -> "third"));
    assertEquals("second", pinning.apply(MemorySegment.NULL));
  }

  @Test
  void whereNobodyCan_theFirstSaysWhy() {
    FirstPinning<String> pinning = new FirstPinning<>(List.of(lost("first"), lost("second")));
    RuntimeException error =
        assertThrows(IllegalStateException.class, () -> pinning.apply(MemorySegment.NULL));
    assertEquals("first is lost", error.getMessage());
    assertEquals("second is lost", error.getSuppressed()[0].getMessage());
  }
}
