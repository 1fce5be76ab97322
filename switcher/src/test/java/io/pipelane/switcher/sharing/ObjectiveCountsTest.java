package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ObjectiveCountsTest {
  /** What a caller has to leave beside twice the time of the answer. */
  private static final long MORE = 10_000_000;

  private static final ResultHandler CALLER = new Ignored();

  private final AtomicLong now = new AtomicLong();
  private final ObjectiveCounts one = new ObjectiveCounts();
  private final ObjectiveCounts other = new ObjectiveCounts();

  private ResultHandler judged(ObjectiveCounts counts, OptionalLong deadline) {
    return judged(counts, deadline, 5, 0);
  }

  private ResultHandler judged(
      ObjectiveCounts counts, OptionalLong deadline, long objective, long least) {
    InferenceRequest request =
        new InferenceRequest(new ModelVersion("m", 1), List.of(), List.of(), deadline);
    return counts.judging(request, CALLER, objective, _ -> least, now::get);
  }

  @Test
  void judging_eachDeviceHasItsOwnAnswersAndThoseInTimeAreMet() {
    ResultHandler inTime = judged(one, OptionalLong.of(10));
    ResultHandler late = judged(other, OptionalLong.of(9));
    now.set(10);
    inTime.completed(new InferenceTimings(0, 0, 1));
    late.completed(new InferenceTimings(0, 0, 1));
    assertEquals(new Attainment.Objectives(1, 1), one.soFar());
    assertEquals(new Attainment.Objectives(0, 1), other.soFar());
    assertSame(CALLER, judged(one, OptionalLong.empty()), "any time will do");
  }

  @Test
  void judging_callersOwnTime_countsWhereItLeavesTwiceWhatIsNeeded() {
    long any = Long.MAX_VALUE;
    assertTrue(counts(MORE + 20, any, 10), "twice the run");
    assertFalse(counts(MORE + 19, any, 10), "less");
    assertFalse(counts(MORE, any, 10), "threads of the host may wait as long");
    assertFalse(counts(MORE + 19, any, 0), "nothing is known of the run");
    assertFalse(counts(-1, any, 0), "the time has passed");
  }

  @Test
  void judging_ownersTime_countsHoweverLittleItIs() {
    assertTrue(counts(100, 100, 99));
    assertTrue(counts(90, 100, 99), "some of it has passed on the way here");
    assertTrue(counts(101, 100, 99), "a caller who is content with more");
    assertFalse(counts(89, 100, 80), "a caller who wants less than the owner");
  }

  private boolean counts(long left, long objective, long least) {
    ResultHandler told = judged(one, OptionalLong.of(now.get() + left), objective, least);
    return told instanceof JudgedAnswer;
  }

  @Test
  void judging_whatFails_countsWhereTheDeviceIsToBlame() {
    for (Status status : Status.values()) {
      long before = one.soFar().judged();
      judged(one, OptionalLong.of(5)).failed(new StatusException(status, "on purpose"));
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
}
