package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.JobWork;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class JobLineTest {
  /** Of jobs of a model that is away the first time that somebody asks. */
  private static JobLine line() {
    AtomicInteger asked = new AtomicInteger();
    return new JobLine(
        Optional.empty(),
        spec ->
            asked.getAndIncrement() == 0
                ? Optional.of(StatusException.unavailable("away"))
                : Optional.empty(),
        Duration.ofMillis(1),
        new JobOrder(OptionalDouble.empty(), model -> 1, () -> 0));
  }

  private static Job job(String id, long cameNanos) {
    return JobsFixture.waiting(id, new ModelVersion("echo", 1), new JobWork(cameNanos));
  }

  @Test
  void modelComesBackWhileTheLineIsLookedThrough_theFirstOfItsJobsGoesFirst() {
    JobLine line = line();
    Job first = job("first", 1);
    Job second = job("second", 2);
    line.awaitModel(first);
    line.awaitModel(second);
    assertSame(first, line.next(List.of(Priority.OFFLINE)));
    assertSame(second, line.next(List.of(Priority.OFFLINE)));
  }

  /** Though no thread is free for all of them. */
  @Test
  void modelIsBack_noneOfItsJobsSaysThatItWaitsForIt() {
    JobLine line = line();
    Job second = job("second", 2);
    line.awaitModel(job("first", 1));
    line.awaitModel(second);
    assertNotNull(line.next(List.of(Priority.OFFLINE)));
    assertEquals("", second.status().reason());
  }

  /** No thread looks for a job: all that there are run one. */
  @Test
  void tellReasons_whileAllThreadsRunJobs_asksForModelsAwayAndSaysThatThereIsNoTurn() {
    JobLine line = line();
    Job job = job("first", 1);
    line.awaitModel(job);
    line.tellReasons();
    assertEquals("away", job.status().reason());
    line.tellReasons();
    assertEquals(JobLine.NO_TURN, job.status().reason());
    assertSame(job, line.next(List.of(Priority.OFFLINE)));
  }
}
