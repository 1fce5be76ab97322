package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.JobWork;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class JobOrderTest {
  private static final long SECOND = 1_000_000_000;
  private static final long NOW = 1_000_000 * SECOND;
  private static final ModelVersion FAST = new ModelVersion("fast", 1);
  private static final ModelVersion SLOW = new ModelVersion("slow", 1);

  private static JobOrder order(OptionalDouble ageing) {
    return new JobOrder(ageing, model -> model.equals(FAST) ? SECOND : 100 * SECOND, () -> NOW);
  }

  /** A job with so many items behind its first that came so many seconds ago. */
  private static Job job(String id, ModelVersion model, long itemsBehind, long secondsAgo) {
    JobWork work = new JobWork(NOW - secondsAgo * SECOND);
    work.left(1 + itemsBehind);
    return JobsFixture.waiting(id, model, work);
  }

  private static List<String> ids(OptionalDouble ageing, Job... waiting) {
    return order(ageing).of(List.of(waiting)).stream().map(job -> job.spec().id()).toList();
  }

  @Test
  void withoutAgeing_jobsBeginAsTheyCame() {
    assertEquals(
        List.of("long", "short"),
        ids(OptionalDouble.empty(), job("long", SLOW, 100, 2), job("short", FAST, 1, 1)));
  }

  @Test
  void theJobThatNeedsLeast_beginsFirst_equalsAsTheyCame() {
    assertEquals(
        List.of("few", "twin", "many", "slow"),
        ids(
            OptionalDouble.of(0),
            job("slow", SLOW, 2, 4),
            job("few", FAST, 2, 3),
            job("many", FAST, 50, 2),
            job("twin", FAST, 2, 1)));
  }

  /** What it needs is 100 s; a tenth of the time that it came earlier is taken off. */
  @Test
  void nobodyGoesBeforeAJob_thatCameLongAfterIt() {
    OptionalDouble tenth = OptionalDouble.of(0.1);
    assertEquals(
        List.of("short", "long"),
        ids(tenth, job("long", FAST, 100, 1_900), job("short", FAST, 0, 1_000)));
    assertEquals(
        List.of("long", "short"),
        ids(tenth, job("long", FAST, 100, 2_100), job("short", FAST, 0, 1_000)));
  }

  @Test
  void itemsOfAModelThatNobodyHasAsked_areGuessed_andItIsNotCounted() {
    InferenceStatistics statistics = new InferenceStatistics();
    assertEquals(1_000_000, JobOrder.itemNanos(statistics).applyAsLong(FAST));
    assertEquals(List.of(), statistics.all());
  }

  @Test
  void aJobThatHasRun_countsByWhatItsOwnItemsTook() {
    Job known = job("known", SLOW, 10, 2);
    known.work().ran(1);
    assertEquals(
        List.of("known", "other"), ids(OptionalDouble.of(0), job("other", FAST, 1, 3), known));
  }

  @Test
  void jobsThatHadBegun_goFirst_asTheyCame() {
    Job first = job("first", SLOW, 100, 2);
    Job second = job("second", FAST, 1, 1);
    first.progressed(new Progress(1, 1, 0, 1, 1));
    second.progressed(new Progress(1, 1, 0, 1, 1));
    for (OptionalDouble ageing : List.of(OptionalDouble.empty(), OptionalDouble.of(0.1))) {
      assertEquals(
          List.of("first", "second", "short"),
          ids(ageing, job("short", FAST, 1, 3), first, second));
    }
  }
}
