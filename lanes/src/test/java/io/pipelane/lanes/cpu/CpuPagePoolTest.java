package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.lanes.PagePool.Page;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

final class CpuPagePoolTest {
  private static final long HUGE = LibC.HUGE_PAGE_BYTES;
  private static final Pattern MAPPING = Pattern.compile("([0-9a-f]+)-([0-9a-f]+) ");

  @Test
  void populate_pageOfHugePages_liesInHugePagesUnderItsSlotToo() throws IOException {
    try (CpuPagePool pool = new CpuPagePool(2 * HUGE, 2, TableMoves.SYSTEM);
        Reservation range = Reservation.of(2 * HUGE, 2 * HUGE)) {
      Page page = pool.lent().take().orElseThrow();
      pool.populate(page);
      assumeTrue(hugeBytes(pool.content(page)) > 0, "this kernel has huge pages");

      pool.mapAt(range.address(), page);
      MemorySegment slot = range.memory();
      slot.fill((byte) 7);

      assertEquals(2 * HUGE, hugeBytes(slot));
      assertEquals((byte) 7, pool.content(page).get(JAVA_BYTE, 2 * HUGE - 1));
      pool.unmapAt(range.address(), page);
    }
  }

  @Test
  void populate_pageBelowAHugeOne_isMemoryAllTheSame() {
    try (CpuPagePool pool = new CpuPagePool(HUGE / 2, 3, TableMoves.SYSTEM);
        Reservation range = Reservation.of(HUGE / 2, HUGE / 2)) {
      Page page = pool.lent().take().orElseThrow();
      pool.populate(page);
      pool.content(page).fill((byte) 5);

      pool.mapAt(range.address(), page);

      assertEquals((byte) 5, range.memory().get(JAVA_BYTE, HUGE / 2 - 1));
      pool.unmapAt(range.address(), page);
    }
  }

  @Test
  void vacate_pageThatWasUsed_givesItsMemoryBackAndHasOtherWhenItIsMappedAgain() {
    try (CpuPagePool pool = new CpuPagePool(HUGE, 2, TableMoves.SYSTEM);
        Reservation range = Reservation.of(HUGE, HUGE)) {
      Page page = pool.lent().take().orElseThrow();
      for (int i = 1; i <= 3; i++) {
        pool.populate(page);
        pool.mapAt(range.address(), page);
        assertEquals((byte) 0, range.memory().get(JAVA_BYTE, HUGE - 1), "what was there is gone");
        range.memory().fill((byte) i);
        pool.unmapAt(range.address(), page);
        pool.vacate(page);
        pool.vacate(page);
      }
    }
  }

  /** How much of the mapping there the kernel says is mapped as huge pages. */
  private static long hugeBytes(MemorySegment mapped) throws IOException {
    boolean here = false;
    for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
      Matcher mapping = MAPPING.matcher(line);
      if (mapping.lookingAt()) {
        here =
            Long.parseUnsignedLong(mapping.group(1), 16) <= mapped.address()
                && mapped.address() < Long.parseUnsignedLong(mapping.group(2), 16);
      } else if (here && line.startsWith("ShmemPmdMapped:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
      }
    }
    return 0;
  }
}
