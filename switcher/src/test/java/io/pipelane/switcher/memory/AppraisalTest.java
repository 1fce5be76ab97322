package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** See {@link LeastStallTest} for what runs lose at least. */
class AppraisalTest extends DaemonTest {
  private final Appraisal appraisal = daemon.appraisal();

  @Test
  void uses_modelsNobodyAskedFor_areLeftOut() {
    ImportedModel used = registered("used", 2);
    registered("idle", 2);
    use(used);
    assertEquals(Set.of(used.version()), appraisal.uses().keySet());
    double once = appraisal.uses().values().iterator().next();
    use(used);
    assertTrue(appraisal.uses().values().iterator().next() > once);
  }

  @Test
  void demands_modelsThatAreThereOrAreNotAskedFor_areLeftOut() {
    ImportedModel there = registered("there", 2);
    ImportedModel gone = registered("gone", 2);
    registered("idle", 2);
    use(there);
    use(gone);
    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertEquals(List.of(), appraisal.demands());
    daemon.evictions().evict(gone.version(), 0);
    assertEquals(
        List.of(gone.version()),
        appraisal.demands().stream().map(demand -> demand.model().version()).toList());
    assertTrue(appraisal.demands().getFirst().perSecond() > 0);
  }

  @Test
  void displaced_othersWouldHaveToGiveWay_isWhatTheyLose() {
    ImportedModel there = registered("there", 4, 4);
    ImportedModel small = registered("small", 2);
    ImportedModel large = registered("large", 3);
    use(there);
    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertEquals(0, displaced(small.version()), "there is room");
    assertTrue(displaced(large.version()) > 0);
  }

  private double displaced(ModelVersion version) {
    return appraisal.displacedNanosPerSecond(version, _ -> 0);
  }

  /** One use in all says little of a rate yet. */
  @Test
  void displaced_whoAsksKnowsMoreOfTheRate_countsThat() {
    ImportedModel there = registered("there", 4, 4);
    ImportedModel large = registered("large", 3);
    use(there);
    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    double atTen =
        appraisal.displacedNanosPerSecond(
            large.version(), version -> version.equals(there.version()) ? 10 : 0);
    double atTwenty = appraisal.displacedNanosPerSecond(large.version(), _ -> 20);
    assertTrue(atTen > 100 * displaced(large.version()));
    assertEquals(2 * atTen, atTwenty, 1e-6 * atTwenty);
  }

  /** It gives way to online work first, and nobody waits for it. */
  @Test
  void displaced_offlineWorkAloneHasThePages_isWorthNothing() {
    ImportedModel there = registered("there", 4, 4);
    ImportedModel large = registered("large", 3);
    use(there);
    clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertTrue(displaced(large.version()) > 0);
    daemon.forgetUses(there.version(), Optional.of(Priority.OFFLINE));
    assertEquals(0, displaced(large.version()));
  }

  @Test
  void isComplete_pagesAreOnTheirWay_notYet() {
    ImportedModel model = registered("model", 2, 2);
    Lease lease = daemon.acquire(model.version());
    assertFalse(appraisal.isComplete(model.version()));
    device.completeAll();
    assertTrue(appraisal.isComplete(model.version()));
    lease.close();
  }

  @Test
  void isComplete_onceAllPagesAreThere() {
    ImportedModel model = registered("model", 2, 2);
    assertFalse(appraisal.isComplete(model.version()));
    use(model);
    assertTrue(appraisal.isComplete(model.version()));
    daemon.evictions().evict(model.version(), PAGE);
    assertFalse(appraisal.isComplete(model.version()));
    assertFalse(appraisal.isComplete(new ModelVersion("unknown", 1)));
  }

  @Test
  void modelThatIsNotRegistered_isWorthNothing() {
    ModelVersion gone = registered("gone", 2).version();
    assertTrue(appraisal.stallNanos(gone) > 0);
    daemon.deregister(gone);
    assertEquals(0, appraisal.stallNanos(gone));
    assertEquals(0, appraisal.leastStallNanos(gone));
    assertEquals(0, displaced(gone));
    assertEquals(List.of(), appraisal.demands());
  }
}
