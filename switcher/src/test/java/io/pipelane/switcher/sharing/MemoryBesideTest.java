package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class MemoryBesideTest {
  @Test
  void used_countsWhatPagesLeave() {
    MemoryBeside beside = MemoryBeside.of(OptionalLong.of(1_000), 900);
    assertEquals(0.4, beside.used(OptionalDouble.of(0.94)).orElseThrow(), 1e-9);
    assertEquals(1, beside.used(OptionalDouble.of(1)).orElseThrow(), 1e-9);
    assertEquals(0, beside.used(OptionalDouble.of(0.5)).orElseThrow(), 1e-9);
    assertEquals(OptionalDouble.empty(), beside.used(OptionalDouble.empty()));
  }

  @Test
  void used_deviceDoesNotSayHowMuchItHas_countsAll() {
    MemoryBeside beside = MemoryBeside.of(OptionalLong.empty(), 900);
    assertEquals(0.94, beside.used(OptionalDouble.of(0.94)).orElseThrow(), 1e-9);
  }

  @Test
  void used_pagesAreTheWholeDevice_staysANumber() {
    MemoryBeside beside = MemoryBeside.of(OptionalLong.of(1_000), 1_000);
    assertEquals(1, beside.used(OptionalDouble.of(1)).orElseThrow(), 1e-9);
  }
}
