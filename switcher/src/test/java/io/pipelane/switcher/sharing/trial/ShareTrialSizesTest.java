package io.pipelane.switcher.sharing.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.SharingConfig.Multiprocessors;
import io.pipelane.switcher.sharing.trial.ShareOverview.State;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Which size of the share is chosen, on a device whose sizes are known. */
class ShareTrialSizesTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long STEP = SECOND / 10;
  private static final long ONLINE_NANOS = 1_000_000;
  private static final long OFFLINE_NANOS = 50_000_000;

  private final ShareTrial trial =
      ShareTrial.of(Multiprocessors.MEASURED, List.of(5, 10, 20), 10, 1);
  private final Map<Integer, Double> slowdown = new TreeMap<>(Map.of(0, 1.0));
  private final Map<Integer, Double> gain = new TreeMap<>(Map.of(0, 1.0));
  private final TreeSet<Integer> failing = new TreeSet<>();
  private final TreeMap<Integer, Double> openSeconds = new TreeMap<>();
  private int changes;
  private long now;

  /** Online runs in 100 ms, 1 ms each. */
  private int load = 20;

  private void size(int percent, double slower, double more) {
    slowdown.put(percent, slower);
    gain.put(percent, more);
  }

  private int percent() {
    return trial.overview().percent();
  }

  private double open(int percent) {
    return openSeconds.getOrDefault(percent, 0.0);
  }

  private void run(double seconds) {
    for (long end = now + (long) (seconds * SECOND); now < end; now += STEP) {
      int percent = percent();
      for (int i = 0; i < load; i++) {
        long nanos = (long) (ONLINE_NANOS * slowdown.getOrDefault(percent, 1.0));
        trial.onlineRan(nanos);
        trial.onlineAnswered("kind", now, nanos);
      }
      long done = (long) (OFFLINE_NANOS * gain.getOrDefault(percent, 1.0));
      if (trial.holdsOffline()) {
        assertFalse(trial.isOpen());
      } else if (!trial.isOpen()) {
        trial.offlineRan(done);
      } else if (failing.contains(percent)) {
        trial.offlineFailed(trial.size());
      } else {
        trial.offlineRan(done, trial.size());
      }
      boolean held = trial.holdsOffline();
      boolean changed = trial.look(now);
      assertEquals(percent != percent() || held != trial.holdsOffline(), changed);
      changes += changed ? 1 : 0;
      openSeconds.merge(percent(), 0.1, Double::sum);
    }
  }

  private void assertChosen(int percent, State state) {
    assertEquals(percent, percent());
    assertEquals(state, trial.overview().state());
  }

  @Test
  void largestSizeThatOnlineWorkBears_isChosen() {
    size(5, 1.005, 1.05);
    size(10, 1.01, 1.1);
    size(20, 1.02, 1.2);
    run(60);
    assertChosen(20, State.KEPT);
  }

  @Test
  void sizeThatIsTooMuch_givesWayToTheNextSmaller() {
    size(5, 1.01, 1.05);
    size(10, 1.08, 1.2);
    size(20, 1.2, 1.3);
    run(60);
    assertChosen(5, State.KEPT);
    assertEquals(0, open(20), "ten are too much already");
  }

  @Test
  void largerSizeThatIsTooMuch_isTriedSeldomAndTheKeptOneStays() {
    size(5, 1.0, 1.05);
    size(10, 1.0, 1.1);
    size(20, 1.1, 1.3);
    run(280);
    assertChosen(10, State.KEPT);
    assertTrue(open(20) < 12, openSeconds.toString());
    assertTrue(open(10) > 240, openSeconds.toString());
  }

  @Test
  void largerSizeThatIsExpectedToBeTooMuch_isNotTried() {
    size(5, 1.01, 1.05);
    size(10, 1.028, 1.1);
    size(20, 1.028, 1.3);
    run(100);
    assertChosen(10, State.KEPT);
    assertEquals(0, open(20));
  }

  @Test
  void largerSizeThatBringsNoMore_isNotKept() {
    size(5, 1.0, 1.05);
    size(10, 1.0, 1.1);
    size(20, 1.0, 1.11);
    run(50);
    assertChosen(10, State.KEPT);
    assertTrue(open(20) > 5, openSeconds.toString());
  }

  @Test
  void sizeThatBringsNothing_isFollowedByALargerOne() {
    size(5, 1.0, 1.0);
    size(10, 1.0, 1.01);
    size(20, 1.01, 1.1);
    run(40);
    assertChosen(20, State.KEPT);
  }

  @Test
  void noSizePays_isOffMostOfTheTime() {
    size(5, 1.06, 1.5);
    size(10, 1.1, 1.5);
    size(20, 1.2, 1.5);
    run(600);
    assertFalse(trial.isOpen());
    assertTrue(open(0) > 560, openSeconds.toString());
  }

  /** What five per cent were worth was found before online work changed. */
  @Test
  void allIsMeasuredAnew_smallerSizeIsKeptOnlyOnceItIsMeasuredToo() {
    size(5, 1.0, 1.05);
    size(10, 1.08, 1.2);
    size(20, 1.2, 1.3);
    run(35);
    assertChosen(5, State.KEPT);
    size(10, 1.01, 1.2);
    run(120);
    assertChosen(10, State.KEPT);
    for (int i = 0; i < 4000 && trial.phase() != ShareTrial.Phase.WITHOUT; i++) {
      run(0.1);
    }
    assertEquals(ShareTrial.Phase.WITHOUT, trial.phase());
    size(5, 1.07, 1.05);
    size(10, 1.08, 1.2);
    for (int i = 0; i < 600; i++) {
      run(0.1);
      assertFalse(trial.phase() == ShareTrial.Phase.KEPT && trial.isOpen());
    }
  }

  /** What each size costs is known; only the load changes. */
  @Test
  void loadRisesAndFalls_sizeFollowsWithoutATrial() {
    size(5, 1.004, 1.05);
    size(10, 1.01, 1.1);
    size(20, 1.03, 1.2);
    run(60);
    assertChosen(20, State.KEPT);
    load = 60;
    run(4);
    assertChosen(10, State.KEPT);
    load = 92;
    run(6);
    assertFalse(percent() > 5, "it would make requests wait much longer");
    load = 20;
    double trying = open(20);
    run(30);
    assertChosen(20, State.KEPT);
    assertTrue(open(20) - trying > 10, openSeconds.toString());
  }

  @Test
  void loadAtTheEdge_sizeDoesNotGoToAndFro() {
    size(5, 1.004, 1.05);
    size(10, 1.01, 1.1);
    size(20, 1.03, 1.2);
    run(60);
    assertChosen(20, State.KEPT);
    int before = changes;
    for (int i = 0; i < 60; i++) {
      load = i % 2 == 0 ? 44 : 36; // On both sides of where twenty are too much.
      run(2);
    }
    assertTrue(changes - before <= 8, (changes - before) + " changes in two minutes");
  }

  @Test
  void sizeOnWhichRunsFail_givesWayToTheNextSmaller() {
    size(5, 1.0, 1.1);
    size(10, 1.0, 1.2);
    failing.add(10);
    run(35);
    assertChosen(5, State.KEPT);
    assertTrue(open(10) < 0.5, openSeconds.toString());
  }

  /** Some request may be to blame. */
  @Test
  void sizeOnWhichRunsHaveEndedWell_isNotGivenUpForOneThatFails() {
    size(10, 1.0, 1.2);
    size(20, 1.1, 1.2);
    run(25);
    assertChosen(10, State.KEPT);
    trial.offlineFailed(trial.size());
    run(1);
    assertChosen(10, State.KEPT);
  }

  @Test
  void ownerAllowsMore_largerSizeIsChosen() {
    trial.keepTo(() -> OptionalDouble.of(1.3));
    size(5, 1.03, 1.05);
    size(10, 1.06, 1.2);
    size(20, 1.12, 1.4);
    run(60);
    assertChosen(20, State.KEPT);
  }

  @Test
  void overview_tellsWhatIsKnownOfEachSize() {
    size(5, 1.0, 1.05);
    size(10, 1.01, 1.1);
    size(20, 1.08, 1.3);
    run(40);
    List<ShareOverview.Size> sizes = trial.overview().sizes();
    assertEquals(List.of(5, 10, 20), sizes.stream().map(ShareOverview.Size::percent).toList());
    assertEquals(OptionalDouble.empty(), sizes.get(0).onlineSlowdown());
    assertEquals(1.01, sizes.get(1).onlineSlowdown().orElseThrow(), 1e-6);
    assertEquals(1.08, sizes.get(2).onlineSlowdown().orElseThrow(), 1e-6);
    assertEquals(0.55, sizes.get(1).offlineWith().orElseThrow(), 0.02);
  }
}
