package io.pipelane.switcher.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class JobSimulatorTest {
  private static SimulatedJob job(String id, long arrival, long iterations) {
    return new SimulatedJob(id, arrival, 10, 30, 0, 10, iterations, 1);
  }

  private static JobHistory run(String policy, SwitchCosts costs, SimulatedJob... jobs) {
    return new JobSimulator(RandomJobs.rules(policy, costs)).run(List.of(jobs));
  }

  private static long ended(JobHistory history, String job) {
    return record(history, job).endedNanos();
  }

  private static JobRecord record(JobHistory history, String job) {
    return history.records().stream()
        .filter(record -> record.job().id().equals(job))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void fifo_runsWholeJobsInTheOrderOfTheirComing() {
    JobHistory history =
        run("fifo", SwitchCosts.NONE, job("a", 0, 10), job("b", 1, 10), job("c", 2, 1));

    assertEquals(100, ended(history, "a"));
    assertEquals(200, ended(history, "b"));
    assertEquals(210, ended(history, "c"));
    assertEquals(3, history.intervals().size());
    assertEquals(208, record(history, "c").completionNanos());
    assertEquals(198, record(history, "c").queuedNanos());
  }

  @Test
  void srtf_aShorterJobComes_runsAtTheNextBoundary() {
    JobHistory history = run("srtf", SwitchCosts.NONE, job("a", 0, 10), job("b", 15, 3));

    assertEquals(20, record(history, "b").startedNanos());
    assertEquals(50, ended(history, "b"));
    assertEquals(130, ended(history, "a"));
  }

  @Test
  void srtf_aJobThatIsNearerToItsEnd_isNotInterrupted() {
    JobHistory history = run("srtf", SwitchCosts.NONE, job("a", 0, 10), job("b", 75, 3));

    assertEquals(100, ended(history, "a"));
    assertEquals(130, ended(history, "b"));
  }

  @Test
  void srtf_aShorterJobNeedsTheRoom_itsPredecessorLoadsAgain() {
    SwitchCosts costs = new SwitchCosts(2, 1e9);
    SimulatedJob large = new SimulatedJob("a", 0, 60, 20, 0, 10, 10, 1);
    SimulatedJob small = new SimulatedJob("b", 15, 30, 30, 0, 10, 1, 1);
    JobHistory history = run("srtf", costs, large, small);

    assertEquals(2, record(history, "a").loads());
    long firstOfA = 2 + 60 + 10;
    assertEquals(firstOfA + 2 + 30 + 10, ended(history, "b"));
    assertEquals(ended(history, "b") + 2 + 60 + 90, ended(history, "a"));
  }

  @Test
  void fair_threeEqualJobs_haveEqualShares() {
    JobRules oneLane = new JobRules(RandomJobs.scheduling("fair"), 100, 1, SwitchCosts.NONE);
    JobHistory history =
        new JobSimulator(oneLane)
            .run(List.of(job("a", 0, 300), job("b", 1_000, 300), job("c", 2_000, 300)));

    assertTrue(Math.abs(500 - served(history, "a", 1_000, 2_000)) <= 10);
    for (String each : List.of("a", "b", "c")) {
      assertTrue(Math.abs(1_000 - served(history, each, 2_000, 5_000)) <= 10, each);
    }
    assertEquals(9_000, history.makespanNanos());
  }

  private static long served(JobHistory history, String job, long from, long to) {
    return history.intervals().stream()
        .filter(interval -> interval.job().equals(job))
        .mapToLong(
            interval ->
                Math.max(
                    0, Math.min(to, interval.toNanos()) - Math.max(from, interval.fromNanos())))
        .sum();
  }

  @Test
  void pack_jobsThatLeaveTheDeviceIdle_runBesideEachOther() {
    SimulatedJob half = new SimulatedJob("a", 0, 10, 20, 0, 10, 10, 0.5);
    SimulatedJob other = new SimulatedJob("b", 0, 10, 20, 0, 10, 10, 0.5);
    SimulatedJob third = new SimulatedJob("c", 0, 10, 20, 0, 10, 10, 0.5);

    assertEquals(100, run("pack", SwitchCosts.NONE, half, other).makespanNanos());
    assertEquals(150, run("pack", SwitchCosts.NONE, half, other, third).makespanNanos());
    assertEquals(300, run("fifo", SwitchCosts.NONE, half, other, third).makespanNanos());
  }

  @Test
  void pack_aJobsStart_isHiddenBehindAnothersIterations() {
    SimulatedJob one = new SimulatedJob("a", 0, 10, 20, 50, 10, 10, 1);
    SimulatedJob two = new SimulatedJob("b", 0, 10, 20, 50, 10, 10, 1);

    assertEquals(250, run("pack", SwitchCosts.NONE, one, two).makespanNanos());
    assertEquals(300, run("fifo", SwitchCosts.NONE, one, two).makespanNanos());
  }

  @Test
  void run_aJobThatCouldNotEvenRunAlone_isRefused() {
    SimulatedJob huge = new SimulatedJob("huge", 0, 60, 50, 0, 10, 1, 1);
    for (String policy : List.of("fifo", "srtf", "fair", "pack")) {
      JobHistory history = run(policy, SwitchCosts.NONE, huge, job("a", 0, 1));

      assertEquals(List.of(huge), history.refused(), policy);
      assertTrue(ended(history, "a") > 0, policy);
    }
  }
}
