package io.pipelane.cluster.speed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.cluster.speed.MultiprocessorShare.Complement;
import io.pipelane.cluster.speed.MultiprocessorShare.Fixed;
import org.junit.jupiter.api.Test;

class MultiprocessorShareTest {
  private static final double NEAR = 1e-9;

  private static double share(double utilization, double activity) {
    return Complement.STANDARD.beside(new WorkloadProfile(utilization, activity, 0.5, 1));
  }

  /** MuxFlow's figure 8: A has a fifth of the multiprocessors, B four fifths, all the time. */
  @Test
  void complement_isWhatOnlineWorkLeaves() {
    assertEquals(0.8, share(1, 0.2), NEAR);
    assertEquals(0.2, share(1, 0.8), NEAR);
  }

  @Test
  void complement_isRoundedDownAndNotBelowTheLeast() {
    assertEquals(0.75, share(1, 0.21), NEAR);
    assertEquals(0.1, share(1, 0.97), NEAR);
    assertEquals(1, share(0, 0), NEAR);
  }

  /** Idle most of the time, but it has 0.7 of the multiprocessors while a request runs. */
  @Test
  void complement_boundsTheSlowdownWhileARequestRuns() {
    assertEquals(0.5, share(0.1, 0.07), NEAR);
    assertEquals(0.9, new Complement(0.1, 0.1, 1).beside(new WorkloadProfile(0.1, 0.07, 0, 1)));
  }

  @Test
  void fixed_isTheSameBesideAll() {
    assertEquals(0.4, new Fixed(0.4).beside(new WorkloadProfile(1, 0.9, 0.5, 1)));
  }

  @Test
  void sharesThatAreNone_areRefused() {
    assertThrows(IllegalArgumentException.class, () -> new Fixed(0));
    assertThrows(IllegalArgumentException.class, () -> new Complement(0, 0.1, 0.2));
    assertThrows(IllegalArgumentException.class, () -> new Complement(0.2, 0.1, 0.2));
  }
}
