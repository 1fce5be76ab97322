package io.pipelane.lanes.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class MultiprocessorShareTest {
  @Test
  void count_isAtLeastThePercentage() {
    assertEquals(14, MultiprocessorShare.count(132, 10));
    assertEquals(132, MultiprocessorShare.count(132, 100));
    assertEquals(1, MultiprocessorShare.count(10, 1));
  }
}
