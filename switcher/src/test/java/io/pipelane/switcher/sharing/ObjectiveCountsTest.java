package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.Deadline;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ObjectiveCountsTest {
  private static final ResultHandler CALLER = new Ignored();

  private final AtomicLong now = new AtomicLong();
  private final ObjectiveCounts one = new ObjectiveCounts();
  private final ObjectiveCounts other = new ObjectiveCounts();

  private ResultHandler judged(ObjectiveCounts counts, long objective) {
    return counts.judging(
        SharingFixture.due(new Deadline(OptionalLong.of(objective), true)), CALLER, now::get);
  }

  @Test
  void judging_eachDeviceHasItsOwnAnswersAndThoseInTimeAreMet() {
    ResultHandler inTime = judged(one, 10);
    ResultHandler late = judged(other, 9);
    now.set(10);
    inTime.completed(new InferenceTimings(0, 0, 1));
    late.completed(new InferenceTimings(0, 0, 1));
    assertEquals(new Attainment.Objectives(1, 1), one.soFar());
    assertEquals(new Attainment.Objectives(0, 1), other.soFar());
  }

  @Test
  void judging_callersOwnTime_countsNowhere() {
    OptionalLong dayAhead = OptionalLong.of(Duration.ofDays(1).toNanos());
    for (Deadline own : List.of(Deadline.NONE, new Deadline(dayAhead, false))) {
      assertSame(CALLER, one.judging(SharingFixture.due(own), CALLER, now::get));
    }
  }

  /** An overloaded host loses most where a device's answers are late, too. */
  @Test
  void judging_objectiveOfWhichMostHasPassedOnTheWay_counts() {
    InferenceRequest came = SharingFixture.due(new Deadline(OptionalLong.of(100), true));
    now.set(90);
    one.judging(came, CALLER, now::get).completed(new InferenceTimings(0, 0, 1));
    ResultHandler later = one.judging(came.waited(9), CALLER, now::get);
    now.set(95);
    later.completed(new InferenceTimings(0, 0, 1));
    assertEquals(new Attainment.Objectives(1, 2), one.soFar());
  }

  @Test
  void judging_whatFails_countsWhereTheDeviceIsToBlame() {
    for (Status status : Status.values()) {
      long before = one.soFar().judged();
      judged(one, 5).failed(new StatusException(status, "on purpose"));
      boolean isJudged =
          List.of(
                  Status.DEADLINE_EXCEEDED,
                  Status.DEVICE_FAILURE,
                  Status.UNIMPLEMENTED,
                  Status.INTERNAL)
              .contains(status);
      assertEquals(isJudged ? before + 1 : before, one.soFar().judged(), status.toString());
    }
    assertEquals(0, one.soFar().met());
  }

  /** Clients give up on late answers; one that is gone early says nothing of the device. */
  @Test
  void judging_callerGone_countsWhatStillRanWhenItsTimeHadPassed() {
    ResultHandler early = judged(one, 10);
    ResultHandler late = judged(one, 10);
    now.set(10);
    early.failed(new StatusException(Status.CANCELLED, "gone"));
    now.set(11);
    late.failed(new StatusException(Status.CANCELLED, "gone"));
    assertEquals(new Attainment.Objectives(0, 1), one.soFar());
  }
}
