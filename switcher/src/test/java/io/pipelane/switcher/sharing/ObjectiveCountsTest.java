package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

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
  private static final ResultHandler CALLER = new Ignored();

  private final AtomicLong now = new AtomicLong();
  private final ObjectiveCounts one = new ObjectiveCounts();
  private final ObjectiveCounts other = new ObjectiveCounts();

  private ResultHandler judged(ObjectiveCounts counts, OptionalLong deadline) {
    InferenceRequest request =
        new InferenceRequest(new ModelVersion("m", 1), List.of(), List.of(), deadline);
    return counts.judging(request, CALLER, now::get);
  }

  @Test
  void judging_eachDeviceHasItsOwnAnswersAndThoseInTimeAreMet() {
    now.set(10);
    judged(one, OptionalLong.of(10)).completed(new InferenceTimings(0, 0, 1));
    judged(other, OptionalLong.of(9)).completed(new InferenceTimings(0, 0, 1));
    assertEquals(new Attainment.Objectives(1, 1), one.soFar());
    assertEquals(new Attainment.Objectives(0, 1), other.soFar());
    assertSame(CALLER, judged(one, OptionalLong.empty()), "any time will do");
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
