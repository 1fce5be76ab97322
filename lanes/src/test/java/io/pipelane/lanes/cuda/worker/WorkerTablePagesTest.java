package io.pipelane.lanes.cuda.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WorkerTablePagesTest {
  private static final long PAGE = 100;

  private final Map<Long, ExportedSlots> open = new HashMap<>();
  private final List<Long> mapped = new ArrayList<>();
  private final WorkerTablePages tables = new WorkerTablePages(PAGE, this::reserve, this::free);
  private long addresses = 1000;

  private MappedRange reserve(ExportedSlots slots) {
    assertEquals(null, open.put(slots.range(), slots), "a range is open twice");
    long address = addresses++;
    return new MappedRange() {
      @Override
      public long address() {
        return address;
      }

      @Override
      public void map(long begin, long endByte) {
        assertEquals(0, begin);
        mapped.add(endByte);
      }

      @Override
      public Blank blank() {
        throw new UnsupportedOperationException();
      }
    };
  }

  private void free(ExportedSlots slots) {
    assertEquals(slots, open.remove(slots.range()));
  }

  @Test
  void address_isReservedOnce_andWhatLiesThereIsMappedForEachRun() {
    long first = tables.address(0, 250);
    long second = tables.address(512, 100);
    assertEquals(first, tables.address(0, 250));
    assertEquals(second, tables.address(512, 100));
    assertEquals(List.of(250L, 100L, 250L, 100L), mapped);
    assertEquals(List.of(1, 3), open.values().stream().map(ExportedSlots::count).sorted().toList());
    assertEquals(
        List.of(0L, 512L), open.values().stream().map(ExportedSlots::offset).sorted().toList());
  }

  @Test
  void address_ofALongerTableAtThePlace_isAnother() {
    long former = tables.address(0, 100);
    assertEquals(former + 1, tables.address(0, 101));
    assertEquals(1, open.size());
    assertEquals(1, tables.count());
  }

  @Test
  void tidy_keepsWhatRunsMayRead() {
    tables.address(0, 100);
    long kept = tables.address(512, 100);
    tables.tidy(place -> place == 512);
    assertEquals(1, open.size());
    assertEquals(kept, tables.address(512, 100));
    tables.tidy(place -> false);
    assertEquals(Map.of(), open);
    assertEquals(0, tables.count());
  }
}
