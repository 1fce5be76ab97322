package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.ModelVersion;
import org.junit.jupiter.api.Test;

class ModelLineTest {
  private final ModelLine line = new ModelLine(new ModelVersion("m", 1));

  private void choose(int times) {
    for (int i = 0; i < times; i++) {
      ModelLine.Trial _ = line.nextTrial();
    }
  }

  @Test
  void largestBatch_afterAShortage_growsBack() {
    line.outgrown(64);
    line.outgrown(32);
    assertEquals(16, line.largestBatch());
    choose(1_000);
    assertEquals(16, line.largestBatch());
    choose(1_048);
    assertEquals(64, line.largestBatch());
    choose(100 * 1_024);
    assertEquals(Integer.MAX_VALUE, line.largestBatch());
  }

  @Test
  void largestBatch_ofOneThatFailedAlone_isOne() {
    line.outgrown(1);
    assertEquals(1, line.largestBatch());
  }
}
