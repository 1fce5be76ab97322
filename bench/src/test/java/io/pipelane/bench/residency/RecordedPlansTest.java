package io.pipelane.bench.residency;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;

final class RecordedPlansTest {
  @Test
  void h200_overTwoLinks_stallsLessAndWasNotMeasured() throws IOException {
    RecordedPlans one = RecordedPlans.h200();
    RecordedPlans two = RecordedPlans.h200(2);
    for (int i = 0; i < one.structures().size(); i++) {
      RecordedPlans.Structure alone = one.structures().get(i);
      RecordedPlans.Structure beside = two.structures().get(i);
      assertTrue(coldStallNanos(beside) <= coldStallNanos(alone), alone.name());
      assertNotNull(alone.measuredStall(0), alone.name());
      assertNull(beside.measuredStall(0), beside.name());
    }
    RecordedPlans.Structure resnet = one.structures().getFirst(); // The link bounds its cold runs.
    assertTrue(coldStallNanos(two.structures().getFirst()) < coldStallNanos(resnet) / 2);
  }

  private static double coldStallNanos(RecordedPlans.Structure structure) {
    return SimulatedDevice.stallNanos(structure.model(), 0);
  }
}
