package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class InPlaceWeightsTest extends DaemonTest {
  private ImportedModel table(String name) {
    return register(FakeModels.withTable(name, "shared", FakeModels.TABLE_BYTES));
  }

  private FakeDevice.Range range(ImportedModel model) {
    return Objects.requireNonNull(rangeOf.get(model.version()));
  }

  @Test
  void acquire_ofVariantsInTurn_showsTheTableOfTheOneThatRuns() {
    ImportedModel one = table("one");
    ImportedModel two = table("two");
    assertNull(range(one).shown);
    for (int i = 0; i < 3; i++) {
      use(one);
      assertSame(models.table(one.version()), range(one).shown);
      use(two);
      assertSame(models.table(two.version()), range(one).shown);
    }
    daemon.deregister(two.version());
    assertNull(range(one).shown);
    use(one);
    assertSame(models.table(one.version()), range(one).shown);
  }

  @Test
  void evict_leavesTheTableWhereItIs() {
    ImportedModel one = table("one");
    use(one);
    daemon.evictions().evict(one.version(), 0);
    assertSame(models.table(one.version()), range(one).shown);
    use(one);
    assertEquals(2, daemon.counters().loads());
  }

  @Test
  void ledger_countsTheTableApart() {
    ImportedModel one = table("one");
    use(one);
    assertEquals(FakeModels.TABLE_BYTES, entry(one).inPlaceBytes());
    assertEquals(PAGE, entry(one).weightBytes());
    assertEquals(PAGE, daemon.ledger().lentBytes());
  }

  @Test
  void register_fileOfAnotherSize_isRefusedAndHoldsNothing() {
    ImportedModel wrong = FakeModels.withTable("wrong", "wrong", FakeModels.TABLE_BYTES + 1);
    StatusException error = assertThrows(StatusException.class, () -> daemon.register(wrong));
    assertEquals(Status.INTERNAL, error.status());
    assertTrue(daemon.ledger().entries().isEmpty());
    models.assertAllClosed();
  }

  @Test
  void register_twice_holdsItOnce() {
    ImportedModel one = table("one");
    assertThrows(IllegalStateException.class, () -> daemon.register(one));
    daemon.deregister(one.version());
    models.assertAllClosed();
  }

  @Test
  void acquire_tableCannotBeShown_failsAndALaterRunSucceeds() {
    ImportedModel one = table("one");
    ImportedModel two = table("two");
    use(one);
    use(two);
    device.failToShow(true);
    assertThrows(StatusException.class, () -> daemon.acquire(one.version()));
    daemon.ledger().verify();
    device.failToShow(false);
    use(one);
    use(two);
  }
}
