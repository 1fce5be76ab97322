package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Policies that keep models whole or not at all. */
class WholeModelsTest {
  @Nested
  class LeastRecentlyUsed extends DaemonTest {
    @Override
    ResidencyConfig.Policy policy() {
      return ResidencyConfig.Policy.LRU;
    }

    @Test
    void acquire_memoryIsFull_theModelUsedLongestAgoLosesEverything() {
      ImportedModel first = registered("first", 5);
      ImportedModel second = registered("second", 5);
      use(first);
      use(second);
      use(second);
      use(first);
      use(registered("third", 1));
      assertEquals(0, residentPages(second));
      assertEquals(5, residentPages(first));
    }
  }

  @Nested
  class LeastFrequentlyUsed extends DaemonTest {
    @Override
    ResidencyConfig.Policy policy() {
      return ResidencyConfig.Policy.LFU;
    }

    @Test
    void acquire_memoryIsFull_theModelUsedSeldomLosesEverything() {
      ImportedModel often = registered("often", 5);
      ImportedModel lately = registered("lately", 5);
      use(often);
      use(often);
      use(lately);
      use(registered("third", 1));
      assertEquals(0, residentPages(lately));
      assertEquals(5, residentPages(often));
    }
  }

  @Nested
  class GreedyDualSize extends DaemonTest {
    @Override
    ResidencyConfig.Policy policy() {
      return ResidencyConfig.Policy.GREEDY_DUAL_SIZE;
    }

    @Test
    void acquire_memoryIsFull_thoseThatStayAge() {
      ImportedModel first = registered("first", 5);
      ImportedModel second = registered("second", 5);
      use(first);
      use(second);
      use(registered("third", 5));
      assertEquals(0, residentPages(first), "all cost alike: the oldest goes");
      use(registered("fourth", 5));
      assertEquals(0, residentPages(second), "the third came when everybody had aged");
    }
  }

  @Nested
  class NothingStays extends DaemonTest {
    @Override
    ResidencyConfig.Policy policy() {
      return ResidencyConfig.Policy.NOTHING_STAYS;
    }

    @Test
    void release_lastRun_leavesNothing() {
      ImportedModel model = registered("a", 2, 2);
      Lease first = daemon.acquire(model.version());
      Lease second = daemon.acquire(model.version());
      device.completeAll();
      first.close();
      assertEquals(4, residentPages(model));
      second.close();
      assertEquals(0, residentPages(model));
    }
  }
}
