package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.residency.Unit;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Parts of a unit that goes while they are in use, or on their way. */
class LeftBehindPartTest extends DaemonTest {
  private final Unit unit = new Unit(() -> {});
  private final ImportedModel model = registered("a", 1, 1);
  private final List<ModelVersion> part = List.of(model.version());

  private Lease acquired() {
    daemon.parts().join(part, unit);
    return daemon.parts().acquire(part, () -> {}).getFirst();
  }

  @Test
  void lastRunEndsWhileThePartArrives_itGoesOnceItHasArrived() {
    Lease lease = acquired();
    daemon.parts().takeOut(model.version());
    lease.close();
    assertEquals(2, residentPages(model), "copies are under way");
    device.completeAll();
    assertEquals(0, residentPages(model));
  }

  @Test
  void partArrivesBeforeItsLastRunEnds_itGoesAsThatEnds() {
    Lease lease = acquired();
    daemon.parts().takeOut(model.version());
    device.completeAll();
    assertEquals(2, residentPages(model), "it is in use");
    lease.close();
    assertEquals(0, residentPages(model));
  }

  @Test
  void unitIsWholeAgainBeforeThePartHasArrived_itStays() {
    Lease first = acquired();
    daemon.parts().takeOut(model.version());
    Lease second = daemon.parts().acquire(part, () -> {}).getFirst();
    unit.completed();
    first.close();
    second.close();
    device.completeAll();
    assertEquals(2, residentPages(model));
  }
}
