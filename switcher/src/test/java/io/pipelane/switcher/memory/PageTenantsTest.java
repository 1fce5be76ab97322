package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** What lies in a page that is lent again, before anything has come for it. */
class PageTenantsTest {
  private static final byte ZERO = 0;

  /** A daemon all of whose pages a tenant's model had, and must give up for the next. */
  abstract static class Lending extends DaemonTest {
    final ImportedModel first = register(FakeModels.model("first", PAGES).ofTenant("one"));

    /** Acquires a model of so many bytes; its copies are for the test to complete. */
    final Lease lent(String tenant, long bytes) {
      return daemon.acquire(
          register(FakeModels.ofBytes("second", bytes).ofTenant(tenant)).version());
    }

    final void requireFilled(Lease lease, byte value) {
      FakeDevice.Range range = (FakeDevice.Range) lease.range().addresses;
      for (long i = 0; i < range.byteSize(); i++) {
        assertEquals(value, range.get(i), "at byte " + i);
      }
    }
  }

  @Nested
  class NotZeroing extends Lending {
    @Test
    void acquire_anotherTenantsPages_areAsTheyWere() {
      use(first);
      Lease lease = lent("two", 3 * PAGE);
      requireFilled(lease, FakeDevice.GARBAGE);
      lease.close();
    }
  }

  @Nested
  class Zeroing extends Lending {
    @Override
    ResidencySettings residency() {
      ResidencySettings all = ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL);
      return new ResidencySettings(all.config(), all.profiles(), all.costs(), 1, true);
    }

    @Test
    void acquire_anotherTenantsPages_areZeroUntilWeightsCome() {
      use(first);
      Lease lease = lent("two", 3 * PAGE - 10);
      requireFilled(lease, ZERO);
      device.completeAll();
      FakeDevice.Range range = (FakeDevice.Range) lease.range().addresses;
      for (long i = 3 * PAGE - 10; i < 3 * PAGE; i++) {
        assertEquals(0, range.get(i), "behind the last weight, at byte " + i);
      }
      lease.close();
    }

    @Test
    void acquire_nobodysModelAfterATenants_isATenantToo() {
      use(first);
      Lease lease = lent("", PAGE);
      requireFilled(lease, ZERO);
      lease.close();
    }

    @Test
    void acquire_pagesOfTheSameTenant_areAsTheyWere() {
      use(first);
      Lease lease = lent("one", 3 * PAGE);
      requireFilled(lease, FakeDevice.GARBAGE);
      lease.close();
    }

    @Test
    void acquire_pagesOfAFailedTransfer_areZeroForTheSameTenantToo() {
      models.failAt(0);
      Lease failing = daemon.acquire(first.version());
      device.completeAll();
      assertThrows(StatusException.class, () -> failing.await(0));
      failing.close();
      Lease lease = lent("one", 3 * PAGE);
      requireFilled(lease, ZERO);
      models.failAt(Long.MAX_VALUE);
      device.completeAll();
      lease.close();
    }

    @Test
    void fetchAhead_ofAnotherTenantsModelThatIsNotMounted_zeroesItsPage() {
      use(first);
      ImportedModel left = register(FakeModels.variant("left", "s", 10).ofTenant("one"));
      ImportedModel right = register(FakeModels.variant("right", "s", 10).ofTenant("two"));
      use(left);
      assertTrue(daemon.idleLink().fetchAhead(List.of(right.version())));
      device.completeAll();
      Lease lease = daemon.acquire(right.version());
      requireContent(lease, right);
      FakeDevice.Range range = (FakeDevice.Range) lease.range().addresses;
      for (long i = 10; i < PAGE; i++) {
        assertEquals(0, range.get(i), "at byte " + i);
      }
      lease.close();
    }
  }
}
