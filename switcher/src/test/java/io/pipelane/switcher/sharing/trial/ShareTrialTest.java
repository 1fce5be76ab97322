package io.pipelane.switcher.sharing.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.SharingConfig.Multiprocessors;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** Which shares pay, are kept, and are tried again. */
class ShareTrialTest extends ShareTrialDevice {
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
