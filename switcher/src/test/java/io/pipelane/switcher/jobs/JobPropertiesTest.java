package io.pipelane.switcher.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What holds for any jobs; that the safety condition does is checked at each change of lanes. */
class JobPropertiesTest {
  private static final int SCHEDULES = 200;

  private final long seed = new Random().nextLong();
  private final Random random = new Random(seed);

  /** Something that has to hold. */
  private interface Property {
    void check(List<SimulatedJob> jobs, JobHistory history);
  }

  private void always(String policy, SwitchCosts costs, Property property) {
    try {
      for (int schedule = 0; schedule < SCHEDULES; schedule++) {
        List<SimulatedJob> jobs = RandomJobs.jobs(random, 12);
        property.check(jobs, new JobSimulator(RandomJobs.rules(policy, costs)).run(jobs));
      }
    } catch (Throwable failure) {
      throw new AssertionError("seed " + seed, failure);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"fifo", "edf", "srtf", "fair", "pack"})
  void run_noJobIsLostOrFasterThanAlone(String policy) {
    always(
        policy,
        new SwitchCosts(1, 10e9),
        (jobs, history) -> {
          Set<String> ended =
              history.records().stream().map(job -> job.job().id()).collect(Collectors.toSet());
          assertEquals(jobs.size(), history.records().size());
          assertEquals(jobs.size(), ended.size());
          for (JobRecord record : history.records()) {
            assertTrue(record.queuedNanos() >= 0);
            assertTrue(record.completionNanos() >= record.job().aloneNanos());
          }
          assertTrue(history.mostBytes() <= RandomJobs.CAPACITY);
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"fifo", "edf", "srtf", "fair", "pack"})
  void run_theSameJobs_haveTheSameHistory(String policy) {
    always(
        policy,
        new SwitchCosts(1, 10e9),
        (jobs, history) ->
            assertEquals(
                history,
                new JobSimulator(RandomJobs.rules(policy, new SwitchCosts(1, 10e9))).run(jobs)));
  }

  /** One lane is busy for exactly as long as its jobs take alone, one after another. */
  @ParameterizedTest
  @ValueSource(strings = {"fifo", "edf", "srtf"})
  void run_oneAfterAnother_timeIsConserved(String policy) {
    always(
        policy,
        SwitchCosts.NONE,
        (jobs, history) -> {
          long nanos = jobs.stream().mapToLong(SimulatedJob::aloneNanos).sum();
          assertEquals(nanos, history.intervals().stream().mapToLong(LaneInterval::nanos).sum());
          long before = 0;
          for (LaneInterval interval : history.intervals()) {
            assertTrue(interval.fromNanos() >= before, "two iterations at a time");
            before = interval.toNanos();
          }
        });
  }

  /** Iterations in several lanes take no less than they take alone, and the device no more. */
  @ParameterizedTest
  @ValueSource(strings = {"fair", "pack"})
  void run_besideEachOther_theDeviceIsNotUsedTwice(String policy) {
    always(
        policy,
        SwitchCosts.NONE,
        (jobs, history) -> {
          double device =
              jobs.stream()
                  .mapToDouble(job -> job.iterations() * job.iterationNanos() * job.deviceShare())
                  .sum();
          assertTrue(history.makespanNanos() >= device - 1);
          for (SimulatedJob job : jobs) {
            long ran =
                history.intervals().stream()
                    .filter(interval -> interval.job().equals(job.id()))
                    .mapToLong(LaneInterval::nanos)
                    .sum();
            assertTrue(ran >= job.aloneNanos(), job.toString());
          }
          lanesAreSerial(history);
        });
  }

  private static void lanesAreSerial(JobHistory history) {
    for (Object lane :
        new HashSet<>(history.intervals().stream().map(LaneInterval::lane).toList())) {
      List<LaneInterval> intervals =
          history.intervals().stream()
              .filter(interval -> interval.lane().equals(lane))
              .sorted(Comparator.comparingLong(LaneInterval::fromNanos))
              .toList();
      for (int i = 1; i < intervals.size(); i++) {
        assertTrue(intervals.get(i).fromNanos() >= intervals.get(i - 1).toNanos());
      }
    }
  }
}
