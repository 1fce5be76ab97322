package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.residency.ResidencySettings;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Models whose weights are alike in a page hold it together. */
class SharedPagesTest {
  /** Nothing brought in ahead, pages shared or not, and zeroed between tenants or not. */
  static ResidencySettings settings(boolean sharePages, boolean zeroPages) {
    ResidencySettings all = ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL);
    ResidencyConfig config = all.config();
    return new ResidencySettings(
        new ResidencyConfig(config.policy(), config.halfLife(), 0, false, true, sharePages, true),
        all.profiles(),
        all.costs(),
        1,
        zeroPages);
  }

  /** A daemon, and models that say what is in their pages. */
  abstract static class Sharing extends DaemonTest {
    @Override
    ResidencySettings residency() {
      return settings(true, false);
    }

    /** A variant of one structure, which takes turns with others of as many pages. */
    final ImportedModel variant(String letters, String name) {
      return register(FakeModels.ofPages(letters, name, "s" + letters.length()));
    }

    /** A model that has its addresses for itself. */
    final ImportedModel alone(String letters, String name) {
      return register(FakeModels.ofPages(letters, name, letters + name));
    }

    final long lentPages() {
      daemon.ledger().verify();
      return daemon.ledger().lentBytes() / PAGE;
    }

    final long sharedPages() {
      return daemon.ledger().sharedBytes() / PAGE;
    }

    /** How many pages' bytes were copied to bring a model in. */
    final long moved(ImportedModel model) {
      long before = daemon.counters().bytesLoaded();
      use(model);
      daemon.ledger().verify();
      return (daemon.counters().bytesLoaded() - before) / PAGE;
    }
  }

  @Nested
  class TurnedOn extends Sharing {
    @ParameterizedTest
    @CsvSource({
      "abcdef, abcdeF, 1",
      "abcdef, Abcdef, 1",
      "abcdef, aBcDef, 2",
      "abcdef, abCDef, 2",
      "abcde, abcdE, 1",
      "abcdef, fedcba, 0",
      "aabbcc, abcabc, 0",
      "abcdef, aaaaaa, 0"
    })
    void acquire_aVersionThatDiffers_movesWhatDiffers(String first, String second, int pages) {
      ImportedModel one = variant(first, "1");
      ImportedModel two = variant(second, "2");
      assertEquals(first.length(), moved(one));
      assertEquals(pages, moved(two));
      assertEquals(first.length() + pages, lentPages());
      assertEquals(second.length() - pages, sharedPages());
      assertEquals(second.length() - pages, daemon.counters().pagesJoined());
      assertEquals(first.length(), residentPages(one));
      assertEquals(second.length(), residentPages(two));
      assertEquals(0, moved(one) + moved(two) + moved(one));
    }

    @Test
    void acquire_aVersionThatIsAlike_opensNothing() {
      use(variant("abcdef", "1"));
      ImportedModel two = variant("abcdef", "2");
      long copies = daemon.counters().copies();
      assertEquals(0, moved(two));
      assertEquals(copies, daemon.counters().copies());
      assertEquals(0, models.opened(two.version()));
      assertEquals(6, lentPages());
    }

    @Test
    void evict_oneOfTwo_leavesWhatTheOtherHolds() {
      ImportedModel one = variant("abcdef", "1");
      ImportedModel two = variant("abcdeF", "2");
      use(one);
      use(two);
      daemon.evictions().evict(one.version(), 0);
      assertEquals(6, lentPages());
      assertEquals(0, sharedPages());
      assertEquals(0, moved(two));
      assertEquals(1, moved(one), "it has the rest of the other");
    }

    @Test
    void deregister_whoeverFilledThePages_leavesThemToTheOther() {
      ImportedModel one = variant("abcdef", "1");
      ImportedModel two = variant("abcdeF", "2");
      use(one);
      use(two);
      daemon.deregister(one.version());
      assertEquals(6, lentPages());
      assertEquals(0, moved(two));
      assertEquals(3, moved(variant("abcfff", "3")), "f is there no longer");
    }

    @Test
    void acquire_whileTheCopiesAreUnderWay_waitsForThemAndSendsForNone() {
      ImportedModel one = alone("abcd", "1");
      ImportedModel two = alone("xbcd", "2");
      try (Lease first = daemon.acquire(one.version());
          Lease second = daemon.acquire(two.version())) {
        assertEquals(5, daemon.counters().bytesLoaded() / PAGE);
        assertEquals(5, lentPages());
        assertFalse(second.before(0).isEmpty());
        device.completeAll();
        requireContent(first, one);
        requireContent(second, two);
      }
    }

    /**
     * Its page has come, and who holds its range lets it go, before anybody is told of the page.
     */
    @Test
    void evictOnceIdle_somebodyWaitsForTheModel_keepsAllThatTheRunIsGiven() throws Exception {
      use(alone("zb", "other"));
      ImportedModel model = variant("ab", "1");
      Lease inTheWay = daemon.acquire(variant("cd", "2").version());
      device.completeAll();
      assertTrue(daemon.idleLink().fetchAhead(List.of(model.version())));
      long waits = daemon.counters().waits();
      Future<Lease> waiting = threads.submit(() -> daemon.acquire(model.version()));
      awaitWaits(waits + 1);
      daemon.evictions().evictOnceIdle(model.version());
      models.afterNextClose(
          () -> {
            inTheWay.close();
            await(waiting::isDone);
          });
      device.completeAll();
      try (Lease lease = waiting.get()) {
        requireContent(lease, model);
      }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void copy_thatTwoWaitFor_failsBothAndIsRolledBackWithBoth(int page) {
      ImportedModel one = alone("abcd", "1");
      ImportedModel two = alone("abcd", "2");
      models.failAt((long) page * PAGE);
      Lease first = daemon.acquire(one.version());
      Lease second = daemon.acquire(two.version());
      device.completeAll();
      models.failAt(Long.MAX_VALUE);
      assertThrows(StatusException.class, first::awaitAll);
      assertThrows(StatusException.class, second::awaitAll);
      first.close();
      assertEquals(4, lentPages(), "the second holds them still");
      ImportedModel three = alone("abcd", "3");
      assertEquals(2, moved(three), "it has nothing of what did not come");
      second.close();
      daemon.evictions().evict(three.version(), 0);
      assertEquals(page < 2 ? 0 : 2, lentPages());
      use(one);
      assertEquals(0, moved(two));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5})
    void map_failsAnywhere_acquireFailsAndTheNextOneIsRight(int mappings) {
      ImportedModel one = alone("abcdef", "1");
      ImportedModel two = alone("abCDef", "2");
      use(one);
      device.failMappingAfter(mappings);
      assertThrows(StatusException.class, () -> daemon.acquire(two.version()));
      device.completeAll();
      daemon.ledger().verify();
      assertTrue(residentPages(two) <= mappings);
      use(two);
      assertEquals(8, lentPages());
      use(one);
    }

    @Test
    void map_isDoneLater_theRunWaitsForIt() {
      ImportedModel one = alone("abcd", "1");
      use(one);
      ImportedModel two = alone("abcd", "2");
      device.mapping.beLate();
      try (Lease lease = daemon.acquire(two.version())) {
        assertEquals(1, device.mapping.pending());
        assertEquals(1, lease.before(0).size());
        device.mapping.complete(null);
        requireContent(lease, two);
      }
      ImportedModel three = alone("abcd", "3");
      try (Lease lease = daemon.acquire(three.version())) {
        device.mapping.complete(new StatusException(Status.INTERNAL, "no"));
        assertThrows(StatusException.class, lease::awaitAll);
      }
      assertEquals(0, residentPages(three));
      assertEquals(4, lentPages());
    }

    @Test
    void makeRoom_takesFromWhoeverSharesWithTheNewOne_andCopiesNothingTwice() {
      ImportedModel one = alone("abcdefgh", "1");
      ImportedModel other = alone("yz", "0");
      use(one);
      for (int i = 0; i < 20; i++) {
        use(other);
      }
      ImportedModel two = alone("Abcdefgh", "2");
      assertEquals(1, moved(two));
      assertEquals(2, residentPages(other));
      assertEquals(10, lentPages());
      assertEquals(1, moved(one));
    }

    @Test
    void acquire_oneThatNeedsAll_hasEverySharedPageGiveWay() {
      ImportedModel one = variant("abcdefgh", "1");
      ImportedModel two = variant("abcdefgH", "2");
      use(one);
      use(two);
      ImportedModel large = alone("0123456789", "3");
      assertEquals(10, moved(large));
      assertEquals(0, residentPages(one) + residentPages(two));
    }

    @Test
    void acquire_whileTheOtherRuns_takesNothingOfWhatItRunsOn() throws Exception {
      ImportedModel one = alone("abcdefgh", "1");
      ImportedModel two = alone("abcdefgH", "2");
      ImportedModel large = alone("0123456789", "3");
      use(two);
      Lease running = daemon.acquire(one.version());
      device.completeAll();
      Future<?> waiting = threads.submit(() -> use(large));
      awaitWaits(3);
      requireContent(running, one);
      assertFalse(waiting.isDone());
      assertEquals(8, residentPages(one));
      running.close();
      await(
          () -> {
            device.completeAll();
            return waiting.isDone();
          });
      waiting.get();
      use(one);
    }

    @Test
    void lend_countsAPageThatSeveralHoldOnce_andNotWhileOneOfThemRuns() {
      device.vacatePages();
      ImportedModel one = alone("abcd", "1");
      ImportedModel two = alone("abcd", "2");
      use(one);
      use(two);
      use(alone("wxyz", "0"));
      try (Lease running = daemon.acquire(two.version())) {
        assertEquals(0, daemon.loans().lend(7L * PAGE), "2 are free, 4 idle, and 4 in use");
        requireContent(running, two);
      }
      assertEquals(0, daemon.loans().lend(11L * PAGE));
      assertEquals(4, residentPages(one), "what is too much takes nothing");
      assertEquals(10L * PAGE, daemon.loans().lend(10L * PAGE));
      daemon.ledger().verify();
      daemon.loans().giveBack(10L * PAGE);
      use(one);
      assertEquals(0, moved(two));
    }

    @Test
    void fetchAhead_joinsWhatOthersHaveAndSendsForTheRest() {
      ImportedModel one = variant("abcdef", "1");
      ImportedModel two = variant("abcdeF", "2");
      ImportedModel three = variant("abcdeF", "3");
      use(one);
      assertTrue(daemon.idleLink().fetchAhead(List.of(two.version(), three.version())));
      assertEquals(6, residentPages(two));
      assertEquals(7, lentPages());
      device.completeAll();
      daemon.idleLink().wish(three.version(), Optional.of(Duration.ZERO), Priority.ONLINE);
      assertFalse(daemon.idleLink().fetchAhead(List.of()));
      assertEquals(6, residentPages(three));
      assertEquals(0, moved(two) + moved(three) + moved(one));
      assertEquals(7, lentPages());
    }

    @Test
    void acquire_ofAnotherTenant_sharesToo() {
      use(register(FakeModels.ofPages("abcd", "1", "s").ofTenant("one")));
      assertEquals(0, moved(register(FakeModels.ofPages("abcd", "2", "s").ofTenant("two"))));
    }
  }

  @Nested
  class WithTenantsApart extends Sharing {
    @Override
    ResidencySettings residency() {
      return settings(true, true);
    }

    @Test
    void acquire_sharesWithTheSameTenantsAlone() {
      use(register(FakeModels.ofPages("abcd", "1", "s").ofTenant("one")));
      assertEquals(4, moved(register(FakeModels.ofPages("abcd", "2", "s").ofTenant("two"))));
      assertEquals(0, moved(register(FakeModels.ofPages("abcd", "3", "s").ofTenant("one"))));
      assertEquals(8, lentPages());
    }
  }

  @Nested
  class TurnedOff extends Sharing {
    @Override
    ResidencySettings residency() {
      return settings(false, false);
    }

    @Test
    void acquire_copiesEveryPage() {
      use(variant("abcd", "1"));
      assertEquals(4, moved(variant("abcd", "2")));
      assertEquals(8, lentPages());
      assertEquals(0, sharedPages());
    }
  }
}
