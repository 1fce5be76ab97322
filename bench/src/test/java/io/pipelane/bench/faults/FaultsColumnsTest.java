package io.pipelane.bench.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.bench.report.Column;
import java.util.List;
import org.junit.jupiter.api.Test;

class FaultsColumnsTest {
  @Test
  void percentiles_areToldOfEnoughFaultsAlone() {
    List<Column> few = FaultsColumns.of(FaultsColumns.LEAST_ROUNDS_FOR_99 - 1);
    List<Column> many = FaultsColumns.of(FaultsColumns.LEAST_ROUNDS_FOR_99);
    assertFalse(few.contains(FaultsColumns.RECOVERY_99) || few.contains(FaultsColumns.PAUSE_99));
    assertTrue(many.containsAll(List.of(FaultsColumns.RECOVERY_99, FaultsColumns.PAUSE_99)));
    assertEquals(few.size() + 2, many.size());
    assertTrue(many.containsAll(few));
  }
}
