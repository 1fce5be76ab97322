package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.JobWork;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class JobLineTest {
  private static Job job(String id, long cameNanos) {
    JobSpec spec =
        new JobSpec(
            id,
            new ModelVersion("echo", 1),
            "",
            Optional.empty(),
            0,
            0,
            "out",
            Priority.OFFLINE,
            OptionalLong.empty(),
            1,
            "",
            0);
    return new Job(spec, JobState.QUEUED, Progress.NONE, new JobWork(cameNanos));
  }

  @Test
  void modelComesBackWhileTheLineIsLookedThrough_theFirstOfItsJobsGoesFirst() {
    AtomicInteger asked = new AtomicInteger();
    JobLine line =
        new JobLine(
            Optional.empty(),
            spec -> asked.getAndIncrement() == 0 ? Optional.of("away") : Optional.empty(),
            Duration.ofMillis(1),
            new JobOrder(OptionalDouble.empty(), model -> 1, () -> 0));
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
    AtomicInteger asked = new AtomicInteger();
    JobLine line =
        new JobLine(
            Optional.empty(),
            spec -> asked.getAndIncrement() == 0 ? Optional.of("away") : Optional.empty(),
            Duration.ofMillis(1),
            new JobOrder(OptionalDouble.empty(), model -> 1, () -> 0));
    Job second = job("second", 2);
    line.awaitModel(job("first", 1));
    line.awaitModel(second);
    assertNotNull(line.next(List.of(Priority.OFFLINE)));
    assertEquals("", second.status().reason());
  }
}
