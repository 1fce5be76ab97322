package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** A model that is asked again and again is gone though there is room, and nobody waits. */
class IdlePrefetchTest {
  abstract static class Evicted extends DaemonTest {
    abstract boolean idlePrefetch();

    @Override
    ResidencySettings residency() {
      return new ResidencySettings(
          new ResidencyConfig(policy(), Duration.ofMinutes(2), 0, true, idlePrefetch()),
          SegmentProfiles.inMemory(),
          Optional.of(new PipelineCosts(LinkModel.line(0, 1e9), 0, 0)));
    }

    /** Pages that come by themselves. */
    long pagesFetched() {
      ImportedModel model = registered("a", 2, 2);
      useOften(model);
      daemon.evictions().evict(model.version(), 0);
      fetch();
      return daemon.counters().pagesPlanned();
    }

    void useOften(ImportedModel model) {
      for (int i = 0; i < 100; i++) {
        clock.addAndGet(Duration.ofMillis(100).toNanos());
        use(model);
      }
    }

    void fetch() {
      while (daemon.idleLink().fetchAhead(List.of())) {
        device.completeAll();
      }
    }

    void aSecondLater() {
      clock.addAndGet(Duration.ofSeconds(1).toNanos());
    }
  }

  @Nested
  class On extends Evicted {
    @Override
    boolean idlePrefetch() {
      return true;
    }

    @Test
    void fetch_bringsItIn() {
      assertEquals(4, pagesFetched());
    }

    @Test
    void fetch_moreThanOnePlanMoves_theRestComesWithTheNext() {
      ImportedModel model = registered("a", 5, 5);
      useOften(model);
      daemon.evictions().evict(model.version(), 0);
      fetch();
      assertEquals(8, residentPages(model));
      aSecondLater();
      fetch();
      assertEquals(10, residentPages(model));
    }

    @Test
    void fetch_roomComesFreeThoughNobodyAsks_isFilled() {
      ImportedModel often = registered("often", 6);
      ImportedModel seldom = registered("seldom", 6);
      useOften(often);
      use(seldom);
      fetch();
      assertEquals(4, residentPages(often));
      daemon.deregister(seldom.version());
      aSecondLater();
      fetch();
      assertEquals(6, residentPages(often));
    }
  }

  @Nested
  class Off extends Evicted {
    @Override
    boolean idlePrefetch() {
      return false;
    }

    @Test
    void fetch_doesNothing() {
      assertEquals(0, pagesFetched());
    }
  }
}
