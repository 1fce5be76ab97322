package io.pipelane.switcher.sharing.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Answers that get faster or slower of themselves while a share is on trial. */
class ShareTrialDriftTest extends ShareTrialDevice {
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
}
