package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class CudaExportTest {
  private static final CudaExport EXPORT =
      new CudaExport(
          1,
          2,
          "socket",
          3,
          4,
          5,
          6,
          7,
          8,
          9,
          10,
          11,
          ExecutionSettings.DEFAULT,
          PartialLanes.NONE);

  @Test
  void of_readsWhatToListHasWritten() {
    assertEquals(EXPORT, CudaExport.of(EXPORT.toList()));
  }

  @Test
  void of_readsPartialLanesThatWereWritten() {
    PartialLanes partial = new PartialLanes(4, List.of(5, 10, 20));
    PartialLanes read = PartialLanes.of(partial.first(), partial.percentsText());
    assertEquals(partial, read);
    assertEquals(100, read.percent(3));
    assertEquals(5, read.percent(4));
    assertEquals(20, read.percent(6));
    assertEquals(100, read.percent(7));
  }

  @Test
  void withoutTransferMemory_hasTheRestAndNoWayToIt() {
    CudaExport apart = CudaExport.of(EXPORT.withoutTransferMemory().toList());
    assertEquals(0, apart.transferBytes());
    assertEquals(-1, apart.transferMemory());
    assertEquals(EXPORT.statePages(), apart.statePages());
    assertEquals(EXPORT.execution(), apart.execution());
  }
}
