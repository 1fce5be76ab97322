package io.pipelane.switcher.sharing.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** Online work measured alone, while offline work stands: how often, and what that can tell. */
class ShareTrialAloneTest extends ShareTrialDevice {
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
}
