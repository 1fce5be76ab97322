package io.pipelane.switcher.sharing.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.section.SharingConfig.Multiprocessors;
import java.util.List;
import java.util.function.DoubleUnaryOperator;

/** A simulated device on which a share is on trial, and how both classes fare there. */
abstract class ShareTrialDevice {
  static final long SECOND = 1_000_000_000L;
  static final long STEP = SECOND / 10;
  static final int PERIODS = 600;

  final ShareTrial trial = trial(Multiprocessors.MEASURED);
  long now;
  double slowdown = 1;

  /** How many times as long as usual all answers take, by the time. */
  DoubleUnaryOperator pace = _ -> 1;

  double slowdownAtGates = 1;
  int kinds;
  double gain = 1;

  /** Of a tenth of the device. */
  double load = 1;

  /** Between the ends of offline runs. */
  double offlineSeconds = 0.1;

  double offlineSecondsInShare = 0.1;
  private long sinceOffline;

  static ShareTrial trial(Multiprocessors rule) {
    return ShareTrial.of(rule, List.of(10), 10, 1);
  }

  /** A device that runs both classes, and how they fare while the share is open. */
  void run(double howLong) {
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
  void online(String kind, long nanos) {
    trial.onlineRan(nanos);
    trial.onlineAnswered(kind + kinds, now, nanos);
  }

  void idle(double seconds) {
    for (long end = now + (long) (seconds * SECOND); now < end; now += STEP) {
      boolean _ = trial.look(now);
    }
  }

  void assertOverview(
      ShareOverview.State state, double offlineWithout, double offlineWith, double slowdown) {
    ShareOverview overview = trial.overview();
    assertEquals(state, overview.state());
    assertEquals(offlineWithout, overview.offlineWithout().orElseThrow(), 0.02);
    assertEquals(offlineWith, overview.offlineWith().orElseThrow(), 0.02);
    assertEquals(slowdown, overview.onlineSlowdown().orElseThrow(), 1e-6);
  }
}
