package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.cuda.execution.ExecutionSettings;
import org.junit.jupiter.api.Test;

class CudaExportTest {
  private static final CudaExport EXPORT =
      new CudaExport(
          1, 2, "socket", 3, 4, 5, 6, 7, 8, 9, 10, 11, ExecutionSettings.DEFAULT, PartialLane.NONE);

  @Test
  void of_readsWhatToListHasWritten() {
    assertEquals(EXPORT, CudaExport.of(EXPORT.toList()));
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
