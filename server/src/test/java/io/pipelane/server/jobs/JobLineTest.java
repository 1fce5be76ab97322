package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.JobWork;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobLineTest {
  private static final ModelVersion ECHO = new ModelVersion("echo", 1);

  /** Of jobs of a model that is away the first time that somebody asks. */
  private static JobLine line() {
    AtomicInteger asked = new AtomicInteger();
    return new JobLine(
        Optional.empty(),
        spec ->
            asked.getAndIncrement() == 0
                ? Optional.of(new JobModel.Away("away", false))
                : Optional.empty(),
        _ -> {},
        Duration.ofMillis(1),
        new JobOrder(OptionalDouble.empty(), model -> 1, () -> 0));
  }

  private static Job job(String id, long cameNanos) {
    return JobsFixture.waiting(id, ECHO, new JobWork(cameNanos));
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

  /** The thread that takes online ones alone may be its own. */
  @Test
  void onlineOneThatHadBegun_keepsTheOnlyThreadForItself_untilThereIsAnother() throws Exception {
    JobLine line =
        new JobLine(
            Optional.empty(),
            spec -> Optional.of(new JobModel.Away("away", true)),
            _ -> {},
            Duration.ofMillis(1),
            new JobOrder(OptionalDouble.empty(), model -> 1, () -> 0));
    Job begun = JobsFixture.waiting("begun", ECHO, Priority.ONLINE, new JobWork(1));
    begun.progressed(new Progress(1, 1, 0, 1, 1));
    line.add(begun);
    Job offline = job("offline", 2);
    line.add(offline);
    FutureTask<@Nullable Job> taken =
        new FutureTask<>(() -> line.next(List.of(Priority.ONLINE, Priority.OFFLINE)));
    Thread.startVirtualThread(taken);
    JobsFixture.await(() -> offline.status().reason().equals(JobLine.BEGUN_GO_FIRST));
    FutureTask<@Nullable Job> online = new FutureTask<>(() -> line.next(List.of(Priority.ONLINE)));
    Thread.startVirtualThread(online);
    assertSame(offline, taken.get());
    line.close();
    assertNull(online.get());
  }

  /** Those behind it need theirs once it runs, and others ask for models meanwhile. */
  @Test
  void threadThatWaits_asksForTheModelOfTheFirstJobThatIsComing() throws Exception {
    List<ModelVersion> wanted = new CopyOnWriteArrayList<>();
    JobLine line =
        new JobLine(
            Optional.empty(),
            spec -> Optional.of(new JobModel.Away("away", !spec.model().model().equals("refused"))),
            spec -> wanted.add(spec.model()),
            Duration.ofMillis(1),
            new JobOrder(OptionalDouble.empty(), model -> 1, () -> 0));
    List<String> models = List.of("refused", "first", "second");
    for (int i = 0; i < models.size(); i++) {
      ModelVersion model = new ModelVersion(models.get(i), 1);
      line.awaitModel(JobsFixture.waiting("of " + model, model, new JobWork(i)));
    }
    line.tellReasons();
    assertEquals(List.of(), wanted, "no thread is free");
    FutureTask<@Nullable Job> taken = new FutureTask<>(() -> line.next(List.of(Priority.OFFLINE)));
    Thread.startVirtualThread(taken);
    JobsFixture.await(() -> wanted.size() > 5);
    line.close();
    assertNull(taken.get());
    assertEquals(Set.of(new ModelVersion("first", 1)), Set.copyOf(wanted));
  }

  /** All threads take online jobs, and one takes no others. */
  @Test
  void onesOfBothClassesThatHadBegun_keepAThreadEach() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    JobLine line =
        new JobLine(
            Optional.empty(),
            spec -> {
              asked.incrementAndGet();
              return Optional.of(new JobModel.Away("away", true));
            },
            _ -> {},
            Duration.ofMillis(1),
            new JobOrder(OptionalDouble.empty(), model -> 1, () -> 0));
    for (Priority of : List.of(Priority.ONLINE, Priority.ONLINE, Priority.OFFLINE)) {
      Job begun = JobsFixture.waiting("begun", ECHO, of, new JobWork(1));
      begun.progressed(new Progress(1, 1, 0, 1, 1));
      line.add(begun);
    }
    Job offline = job("offline", 2);
    line.add(offline);
    List<FutureTask<@Nullable Job>> threads = new ArrayList<>();
    List<Priority> both = List.of(Priority.ONLINE, Priority.OFFLINE);
    for (List<Priority> classes : List.of(List.of(Priority.ONLINE), both, both)) {
      FutureTask<@Nullable Job> taken = new FutureTask<>(() -> line.next(classes));
      Thread thread = Thread.ofPlatform().daemon().start(taken);
      JobsFixture.await(
          () ->
              thread.getState() == Thread.State.TIMED_WAITING || taken.isDone()); // It has looked.
      threads.add(taken);
    }
    int before = asked.get();
    JobsFixture.await(() -> asked.get() > before + 10);
    threads.forEach(taken -> assertFalse(taken.isDone(), "a thread too few is kept"));
    FutureTask<@Nullable Job> fourth = new FutureTask<>(() -> line.next(both));
    Thread.startVirtualThread(fourth);
    threads.add(fourth);
    JobsFixture.await(() -> threads.stream().anyMatch(FutureTask::isDone));
    line.close();
    Set<@Nullable Job> given = new HashSet<>();
    for (FutureTask<@Nullable Job> taken : threads) {
      given.add(taken.get());
    }
    assertTrue(given.contains(offline));
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
