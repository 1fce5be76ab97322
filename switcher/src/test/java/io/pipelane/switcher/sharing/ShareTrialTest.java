package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.SharingConfig.Multiprocessors;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;

class ShareTrialTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long STEP = SECOND / 10;
  private static final int PERIODS = 600;

  private final ShareTrial trial = trial(Multiprocessors.MEASURED);
  private long now;
  private double slowdown = 1;

  /** How many times as long as usual all answers take, by the time. */
  private DoubleUnaryOperator pace = _ -> 1;

  private double slowdownAtGates = 1;
  private int kinds;
  private double gain = 1;

  /** Of a tenth of the device. */
  private double load = 1;

  /** Between the ends of offline runs. */
  private double offlineSeconds = 0.1;

  private double offlineSecondsInShare = 0.1;
  private long sinceOffline;

  private static ShareTrial trial(Multiprocessors rule) {
    return ShareTrial.of(rule, List.of(10), 10, 1);
  }

  /** A device that runs both classes, and how they fare while the share is open. */
  private void run(double howLong) {
    for (long end = now + (long) (howLong * SECOND); now < end; now += STEP) {
      for (int i = 0; i < Math.round(10 * load); i++) {
        online("short", (long) (100_000 * slower()));
        online("long", (long) (900_000 * slower()));
      }
      double seconds = trial.isOpen() ? offlineSecondsInShare : offlineSeconds;
      sinceOffline += STEP;
      if (sinceOffline >= seconds * SECOND && !trial.holdsOffline()) {
        sinceOffline = 0;
        if (trial.isOpen()) {
          trial.offlineRan((long) (50_000_000 * gain), trial.size());
        } else {
          trial.offlineRan(50_000_000);
        }
      }
      boolean before = trial.isOpen();
      boolean held = trial.holdsOffline();
      boolean changed = trial.look(now);
      assertEquals(before != trial.isOpen() || held != trial.holdsOffline(), changed);
    }
  }

  private double slower() {
    double beside = trial.isOpen() ? slowdown : trial.holdsOffline() ? 1 : slowdownAtGates;
    return beside * pace.applyAsDouble((double) now / SECOND);
  }

  /** A request that is its run. */
  private void online(String kind, long nanos) {
    trial.onlineRan(nanos);
    trial.onlineAnswered(kind + kinds, now, nanos);
  }

  private void idle(double seconds) {
    for (long end = now + (long) (seconds * SECOND); now < end; now += STEP) {
      boolean _ = trial.look(now);
    }
  }

  @Test
  void share_thatPays_stays() {
    slowdown = 1.03;
    gain = 1.1;
    run(25);
    assertTrue(trial.isOpen());
    assertEquals(ShareTrial.Phase.KEPT, trial.phase());
    assertOverview(ShareOverview.State.KEPT, 0.5, 0.55, 1.03);
  }

  @Test
  void share_thatSlowsOnlineWork_isClosed() {
    slowdown = 1.08;
    gain = 1.5;
    run(25);
    assertFalse(trial.isOpen());
    assertEquals(ShareTrial.Phase.PAUSE, trial.phase());
    assertOverview(ShareOverview.State.DROPPED, 0.5, 0.75, 1.08);
  }

  private void assertOverview(
      ShareOverview.State state, double offlineWithout, double offlineWith, double slowdown) {
    ShareOverview overview = trial.overview();
    assertEquals(state, overview.state());
    assertEquals(offlineWithout, overview.offlineWithout().orElseThrow(), 0.02);
    assertEquals(offlineWith, overview.offlineWith().orElseThrow(), 0.02);
    assertEquals(slowdown, overview.onlineSlowdown().orElseThrow(), 1e-6);
  }

  private static ShareOverview nothingMeasured(ShareOverview.State state, int percent) {
    OptionalDouble none = OptionalDouble.empty();
    return new ShareOverview(
        state, percent, List.of(new ShareOverview.Size(10, none, none)), none, none, none);
  }

  @Test
  void overview_beforeBothWaysAreCompared_hasNoFigures() {
    assertEquals(nothingMeasured(ShareOverview.State.UNTRIED, 0), trial.overview());
    run(6);
    assertEquals(nothingMeasured(ShareOverview.State.TRYING, 0), trial.overview());
    run(5);
    assertEquals(nothingMeasured(ShareOverview.State.TRYING, 10), trial.overview());
    assertEquals(ShareOverview.State.OFF, ShareTrial.off().overview().state());
    assertEquals(
        nothingMeasured(ShareOverview.State.ALWAYS, 10), trial(Multiprocessors.ALWAYS).overview());
  }

  @Test
  void share_inUse_tellsItsLatestFigures() {
    gain = 1.2;
    run(25);
    gain = 1.1;
    slowdown = 1.04;
    run(11);
    assertOverview(ShareOverview.State.KEPT, 0.5, 0.55, 1.04);
  }

  /**
   * Runs of BERT-base that take 1.03 times as long beside a tenth of an H200's multiprocessors:
   * borne at 100 requests a second, and not at 250, where gates alone leave it open to nobody.
   */
  @Test
  void share_thatPaysAtALowLoad_isClosedAtAHighOneAndOpensAgainWithoutATrial() {
    slowdown = 1.03;
    gain = 1.1;
    load = 2.5;
    run(25);
    assertEquals(ShareOverview.State.KEPT, trial.overview().state());
    load = 6;
    run(5);
    assertFalse(trial.isOpen(), "runs are no slower than before, requests would be");
    assertEquals(ShareOverview.State.LOADED, trial.overview().state());
    load = 2.5;
    run(5);
    assertTrue(trial.isOpen());
    assertEquals(ShareOverview.State.KEPT, trial.overview().state());
  }

  @Test
  void highLoad_nothingIsTried() {
    gain = 1.5;
    load = 8;
    run(60);
    assertFalse(trial.isOpen());
    assertEquals(nothingMeasured(ShareOverview.State.LOADED, 0), trial.overview());
    load = 2;
    run(25);
    assertTrue(trial.isOpen());
  }

  /** It ends with the first runs that show it, and the load that it needs is known from then on. */
  @Test
  void trial_thatShowsTooMuchForTheLoad_endsAtOnceAndWaitsForALowerOne() {
    slowdown = 1.035;
    gain = 1.2;
    load = 5.5;
    double open = 0;
    for (int i = 0; i < 600; i++) {
      run(0.1);
      open += trial.isOpen() ? 0.1 : 0;
    }
    assertTrue(open < 4, open + " s"); // Two seconds of them are for building sessions.
    assertEquals(ShareOverview.State.LOADED, trial.overview().state());
    load = 1;
    run(25);
    assertTrue(trial.isOpen());
  }

  @Test
  void modelsOwnerAllowsMore_shareIsKeptAtAHighLoad() {
    trial.keepTo(() -> OptionalDouble.of(1.25));
    slowdown = 1.08;
    gain = 1.3;
    load = 6;
    run(25);
    assertTrue(trial.isOpen());
  }

  @Test
  void share_thatBringsNothing_isClosed() {
    gain = 1.01;
    run(25);
    assertFalse(trial.isOpen());
  }

  @Test
  void share_thatBeginsToSlowOnlineWork_isClosed() {
    gain = 1.2;
    run(25);
    assertTrue(trial.isOpen());
    slowdown = 1.2;
    run(11);
    assertFalse(trial.isOpen());
  }

  @Test
  void share_thatDoesNotPay_isTriedLessAndLessOften() {
    slowdown = 2;
    double open = 0;
    for (int i = 0; i < PERIODS; i++) {
      run(1);
      open += trial.isOpen() ? 1 : 0;
    }
    // Open for 2 s of building and the runs that show it, then 60, 120, 240 s of pause.
    assertTrue(open > 6 && open < 20, open + " s of " + PERIODS);
  }

  @Test
  void withoutWork_nothingIsTried() {
    idle(100);
    assertFalse(trial.isOpen());
    gain = 1.5;
    run(25);
    assertTrue(trial.isOpen());
  }

  @Test
  void workThatEndsOnTrial_isNoVerdict() {
    gain = 1.5;
    run(12);
    assertTrue(trial.isOpen());
    idle(20);
    assertFalse(trial.isOpen());
    run(25);
    assertTrue(trial.isOpen());
  }

  /** Where online work is always in flight, gates let no offline run through. */
  @Test
  void offlineWorkThatDoesNothingWithoutTheShare_gains() {
    offlineSeconds = Double.POSITIVE_INFINITY;
    offlineSecondsInShare = 0.1;
    run(80);
    assertTrue(trial.isOpen());
    assertEquals(ShareTrial.Phase.KEPT, trial.phase());
  }

  @Test
  void longRuns_areMeasuredForLonger() {
    offlineSeconds = 2;
    offlineSecondsInShare = 1.5;
    run(50);
    assertTrue(trial.isOpen());
    assertEquals(ShareTrial.Phase.KEPT, trial.phase());
    slowdown = 1.2;
    run(11);
    assertFalse(trial.isOpen());
  }

  @Test
  void runsThatTakeMinutes_areJudgedInTheEnd() {
    offlineSeconds = Double.POSITIVE_INFINITY;
    offlineSecondsInShare = 25;
    run(140);
    assertEquals(ShareTrial.Phase.KEPT, trial.phase());
  }

  @Test
  void runsThatTakeMinutes_andSlowOnlineWork_areNotWaitedFor() {
    offlineSeconds = Double.POSITIVE_INFINITY;
    offlineSecondsInShare = 25;
    slowdown = 1.2;
    run(75);
    assertEquals(ShareTrial.Phase.PAUSE, trial.phase());
  }

  @Test
  void onlineWorkAlone_isNoVerdict() {
    offlineSeconds = Double.POSITIVE_INFINITY;
    offlineSecondsInShare = Double.POSITIVE_INFINITY;
    run(135);
    assertEquals(ShareTrial.Phase.WITHOUT, trial.phase());
  }

  /** Offline segments end right before online runs: gates are no measure of online work alone. */
  @Test
  void share_thatIsFasterThanGatesAndSlowerThanAlone_isClosed() {
    slowdownAtGates = 1.3;
    slowdown = 1.1;
    gain = 1.5;
    run(25);
    assertEquals(ShareTrial.Phase.PAUSE, trial.phase());
    assertOverview(ShareOverview.State.DROPPED, 0.5, 0.75, 1.1);
  }

  @Test
  void offlineWork_standsOnceInFiveMinutesToBeComparedWith() {
    gain = 1.5;
    slowdown = 2;
    double held = 0;
    for (int i = 0; i < PERIODS; i++) {
      run(1);
      held += trial.holdsOffline() ? 1 : 0;
    }
    assertTrue(held >= 5 && held <= 10, held + " s of " + PERIODS);
  }

  @Test
  void onlineWorkEndsWhileOfflineWorkStands_thatGoesOn() {
    run(5.2);
    assertTrue(trial.holdsOffline());
    idle(10);
    assertFalse(trial.holdsOffline());
    assertEquals(ShareTrial.Phase.WITHOUT, trial.phase());
  }

  @Test
  void onlineWorkInBursts_hasOfflineWorkStandAMinuteLaterAtTheSoonestAndOnceInThatByTheMean() {
    int begun = 0;
    for (int burst = 0; burst < 30; burst++) { // Each ends before online work alone is known.
      run(5.2);
      begun += trial.holdsOffline() ? 1 : 0;
      idle(6);
      assertTrue(burst < 1 || burst > 5 || begun == 1, begun + " times in a minute");
    }
    assertEquals(3, begun, "times in five minutes and a half, six being allowed");
  }

  /** Chance is to be small beside what is allowed. */
  @Test
  void answersThatDiffer_haveOfflineWorkStandForLonger() {
    load = 0;
    int stood = 0;
    for (int step = 0; step < 250; step++) {
      for (long nanos : new long[] {200_000, 1_800_000}) {
        online("uneven", nanos);
      }
      run(0.1);
      stood += trial.holdsOffline() ? 1 : 0;
    }
    assertTrue(stood > 90 && stood <= 101, stood + " tenths of a second");
  }

  /** Of ten minutes, those seconds in which a share is kept. */
  private double keptSeconds() {
    double kept = 0;
    for (int i = 0; i < PERIODS; i++) {
      run(1);
      kept += trial.overview().state() == ShareOverview.State.KEPT ? 1 : 0;
    }
    return kept;
  }

  /** Answers of the first seconds would make a share of 1.15 look like one of 0.9. */
  @Test
  void answersThatGetFasterAfterTheStart_keepNoShareThatIsTooMuch() {
    pace = seconds -> 1 + Math.exp(-seconds / 8);
    slowdown = 1.15;
    gain = 1.5;
    assertEquals(0, keptSeconds());
  }

  @Test
  void answersThatGetFasterAfterTheStart_keepAShareThatPaysOnceTheyStay() {
    pace = seconds -> 1 + Math.exp(-seconds / 8);
    slowdown = 1.02;
    gain = 1.5;
    run(60);
    assertFalse(trial.isOpen());
    run(120);
    assertEquals(ShareTrial.Phase.KEPT, trial.phase());
    assertOverview(ShareOverview.State.KEPT, 0.5, 0.75, 1.02);
  }

  /** No second stretch without a share would tell that from the next. */
  @Test
  void answersThatGetFasterForMinutes_keepNoShareThatIsTooMuch() {
    pace = seconds -> Math.exp(-seconds / 300);
    slowdown = 1.07;
    gain = 1.5;
    assertEquals(0, keptSeconds());
  }

  @Test
  void answersThatGetSlowerForMinutes_keepNoShareThatIsTooMuch() {
    pace = seconds -> Math.exp(seconds / 300);
    slowdown = 1.07;
    gain = 1.5;
    assertEquals(0, keptSeconds());
  }

  /** Two times at once, then two after two minutes, and after four. */
  @Test
  void answersThatNeverStay_haveOfflineWorkStandLessAndLessOften() {
    pace = seconds -> Math.exp(-seconds / 100);
    gain = 1.5;
    int stood = 0;
    for (int i = 0; i < PERIODS; i++) {
      boolean before = trial.holdsOffline();
      run(1);
      stood += trial.holdsOffline() && !before ? 1 : 0;
    }
    assertTrue(stood >= 4 && stood <= 6, stood + " times in ten minutes");
  }

  @Test
  void answersThatNeverStay_inTheEndOfflineWorkStandsForAFiftiethOfTheTimeAtMost() {
    pace = seconds -> Math.exp(-seconds / 300);
    gain = 1.5;
    run(600);
    double held = 0;
    for (int i = 0; i < 12_000; i++) {
      run(0.1);
      held += trial.holdsOffline() ? 0.1 : 0;
    }
    assertTrue(held > 0 && held <= 1200 / 50, held + " s of 1200");
  }

  /** Alone was steady before the pause; since then answers have become faster by 3 %. */
  @Test
  void shareTriedAgainAfterItsPause_isNotComparedWithWhatWasSteadyBefore() {
    pace = seconds -> Math.exp(-seconds / 3000);
    gain = 1.5;
    run(30);
    assertEquals(ShareTrial.Phase.KEPT, trial.phase());
    slowdown = 1.07;
    run(10);
    assertEquals(ShareTrial.Phase.PAUSE, trial.phase());
    assertEquals(0, keptSeconds());
  }

  /** It is tried a third time three minutes after a stretch in which offline work stood. */
  @Test
  void keptShare_isNeverComparedWithWhatIsOlderThanFiveMinutes() {
    gain = 1.5;
    run(30);
    slowdown = 1.2;
    run(160);
    slowdown = 1;
    long stood = 22 * SECOND;
    double kept = 0;
    for (int i = 0; i < PERIODS; i++) {
      run(1);
      stood = trial.holdsOffline() ? now : stood;
      if (trial.phase() == ShareTrial.Phase.KEPT) {
        kept++;
        assertTrue(now - stood <= 301 * SECOND, (now - stood) / SECOND + " s ago");
      }
    }
    assertTrue(kept > 300, kept + " s");
  }

  /** Of no kind are there enough even alone. */
  @Test
  void requestsThatAreAllDifferent_openNoShare() {
    gain = 1.5;
    load = 0.2;
    for (int step = 0; step < 10 * PERIODS; step++) {
      kinds++;
      run(0.1);
      assertFalse(trial.isOpen());
    }
  }

  @Test
  void keptShare_hasOfflineWorkStandOnceInFiveMinutes() {
    gain = 1.5;
    run(60);
    assertTrue(trial.isOpen());
    double held = 0;
    for (int i = 0; i < PERIODS; i++) {
      run(1);
      held += trial.holdsOffline() ? 1 : 0;
    }
    assertTrue(held >= 5 && held <= 10, held + " s of " + PERIODS);
  }

  @Test
  void onlineWorkEndsWhileOfflineWorkStandsBehindAShare_thatGoesOnAndIsNotKept() {
    gain = 1.5;
    run(17.2);
    assertEquals(ShareTrial.Phase.BEHIND, trial.phase());
    assertTrue(trial.holdsOffline());
    idle(10);
    assertFalse(trial.holdsOffline());
    run(25);
    assertFalse(trial.holdsOffline(), "it did twice within a minute");
    assertFalse(trial.isOpen());
  }

  /** Nothing of what asks now was asked while offline work stood. */
  @Test
  void answersThatCannotBeCompared_areNoVerdictAndTheShareStaysClosed() {
    gain = 1.5;
    run(11);
    assertTrue(trial.isOpen());
    kinds++;
    run(9);
    assertEquals(ShareTrial.Phase.WITH, trial.phase());
    run(55);
    assertFalse(trial.isOpen());
    assertEquals(ShareTrial.Phase.PAUSE, trial.phase());
    assertEquals(OptionalDouble.empty(), trial.overview().onlineSlowdown());
  }

  @Test
  void keptShare_whoseOnlineWorkBecomesAnother_isMeasuredAnew() {
    gain = 1.2;
    run(25);
    assertTrue(trial.isOpen());
    kinds++;
    run(12);
    assertTrue(trial.isOpen());
    run(58);
    assertFalse(trial.isOpen());
    run(90);
    assertTrue(trial.isOpen());
  }

  /** Means that agree, of answers that differ so much that both may be by chance. */
  @Test
  void answersThatTellTooLittle_areMeasuredForLongerAndNotKeptInDoubt() {
    gain = 1.5;
    load = 0;
    for (int step = 0; step < 1000; step++) {
      for (long nanos : new long[] {200_000, 1_800_000}) {
        online("uneven", nanos);
      }
      run(0.1);
      if (step == 300) {
        assertTrue(trial.isOpen());
        assertEquals(ShareTrial.Phase.WITH, trial.phase());
      }
    }
    assertFalse(trial.isOpen());
  }

  @Test
  void requestsThatCameBefore_areNotOfTheStretch() {
    gain = 1.5;
    load = 0;
    for (int step = 0; step < 300; step++) {
      for (int i = 0; i < 20; i++) {
        trial.onlineAnswered("kind", now - 10 * SECOND, 10 * SECOND);
      }
      run(0.1);
    }
    assertEquals(ShareTrial.Phase.WITHOUT, trial.phase());
  }

  @Test
  void always_isOpenUnmeasured_andOffIsNever() {
    assertTrue(trial(Multiprocessors.ALWAYS).isOpen());
    ShareTrial off = ShareTrial.off();
    off.onlineRan(1);
    off.onlineAnswered("kind", 0, 1);
    assertFalse(off.look(100 * SECOND));
    assertFalse(off.isOpen());
    assertFalse(off.hasShare());
  }
}
