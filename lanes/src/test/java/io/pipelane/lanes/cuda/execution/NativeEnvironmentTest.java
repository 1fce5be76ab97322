package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.runtime.NativeFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class NativeEnvironmentTest {
  private static final String NAME = "PIPELANE_NATIVE_ENVIRONMENT_TEST";

  @Test
  void setIfAbsent_setsOnce() {
    NativeEnvironment.setIfAbsent(NAME, "first");
    NativeEnvironment.setIfAbsent(NAME, "second");
    try (Arena arena = Arena.ofConfined()) {
      long value = NativeFunction.of("getenv").call(arena.allocateFrom(NAME).address(), 0, 0);
      assertEquals("first", MemorySegment.ofAddress(value).reinterpret(100).getString(0));
    }
  }

  @Test
  void setIfAbsent_noName_saysThatItCannotBeSet() {
    assertThrows(
        IllegalStateException.class, () -> NativeEnvironment.setIfAbsent("a=b", "anything"));
  }
}
