package io.pipelane.server.jobs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.NeverFits;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs on their way through their items, beside others and over a stop. */
class JobsTest extends JobsInAFolder {
  @Test
  void job_overAFile_writesARowForEachItemInOrder() throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      JobStatus submitted = jobs.submit(JobsFixture.fileRequest("out.jsonl"), Caller.ANYBODY);
      JobStatus ended = JobsFixture.ended(jobs, submitted.spec().id());
      assertEquals(JobState.DONE, ended.state());
      assertEquals(JobsFixture.ITEMS, ended.rows());
      assertEquals(0, ended.failed());
      assertEquals(1.0, ended.progress());
      assertEquals(JobsFixture.rows(JobsFixture.ITEMS), fixture.output("out.jsonl"));
      assertEquals(1, jobs.counts().states().get("done"));
      jobs.remove(submitted.spec().id());
      assertEquals(List.of(), jobs.list());
      assertTrue(Files.exists(folder.resolve("out.jsonl")), "outputs stay");
    }
  }

  /** By what its owner says, or by the bytes that are left. */
  @ParameterizedTest
  @ValueSource(strings = {"", ",\"size_hint\":10"})
  void items_sayHowMuchOfTheirJobIsBehindThem(String hint) throws IOException {
    EchoService echo = EchoService.inline();
    List<Long> behind = new CopyOnWriteArrayList<>();
    InferenceService service =
        (request, handler) -> {
          behind.add(request.job().orElseThrow().behindNanos(1));
          return echo.submit(request, handler);
        };
    try (Jobs jobs = fixture.open(service)) {
      String files = "\"input_file\":\"in.jsonl\",\"output_file\":\"o\"";
      JobStatus job = jobs.submit(JobsFixture.request(files + hint), Caller.ANYBODY);
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, job.spec().id()).state());
    }
    assertEquals(JobsFixture.ITEMS, behind.size());
    assertTrue(Math.abs(behind.getFirst() - (JobsFixture.ITEMS - 1)) <= 1, behind::toString);
  }

  /** Whose items go first is up to the policy. */
  @Test
  void job_besideLongOnesThatRun_isDoneBeforeThem() throws IOException {
    EchoService holding = EchoService.holding();
    EchoService inline = EchoService.inline();
    AtomicReference<InferenceService> service = new AtomicReference<>(holding);
    try (Jobs jobs = fixture.open((r, handler) -> service.get().submit(r, handler), 3)) {
      for (int i = 1; i <= 2; i++) {
        jobs.submit(JobsFixture.fileRequest("long" + i), Caller.ANYBODY);
      }
      JobsFixture.awaitPending(holding, 6); // Three items of each.
      service.set(inline);
      JobStatus last = jobs.submit(JobsFixture.fileRequest("short"), Caller.ANYBODY);
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, last.spec().id()).state());
      assertEquals(2, jobs.counts().states().get("running"));
      JobsFixture.completeAll(holding);
    }
  }

  @Test
  void job_overItemsThatComeAlong_answersThemAsAFile() throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      String items = "\"items\":[" + JobsFixture.item(0) + "," + JobsFixture.item(1) + "]";
      JobStatus job =
          jobs.submit(
              JobsFixture.request(items + ",\"output_file\":\"o\",\"group\":\"g\""),
              Caller.ANYBODY);
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, job.spec().id()).state());
      assertEquals(JobsFixture.rows(2), fixture.output("o"));
      String listed = new String(JobAnswers.list(jobs.list()), UTF_8);
      assertTrue(
          listed.endsWith("\"groups\":[{\"group\":\"g\",\"jobs\":1,\"ended\":1,\"done\":true}]}"),
          listed);
    }
  }

  @Test
  void items_thatCannotBeAnswered_haveAnErrorAsTheirRow() throws IOException {
    String lines = "{\"inputs\":[]}\n" + JobsFixture.item(1) + "\nno JSON\n" + "x".repeat(300);
    Files.writeString(folder.resolve("in.jsonl"), lines);
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      JobStatus job = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
      JobStatus ended = JobsFixture.ended(jobs, job.spec().id());
      assertEquals(JobState.DONE, ended.state());
      assertEquals(4, ended.rows());
      assertEquals(3, ended.failed());
      List<String> rows = fixture.output("o").lines().toList();
      assertTrue(rows.get(0).startsWith("{\"item\":0,\"error\":\""), rows.get(0));
      assertEquals(JobsFixture.row(1), rows.get(1) + "\n");
      assertTrue(rows.get(2).startsWith("{\"item\":2,\"error\":\"malformed JSON"), rows.get(2));
      assertTrue(rows.get(3).contains("longer than 200 bytes"), rows.get(3));
    }
  }

  /** As a queue refuses them that is smaller, or full for now. */
  @Test
  void items_thatCanNeverWait_haveAnErrorAsTheirRow_othersAreAskedForAgain() throws IOException {
    EchoService echo = EchoService.inline();
    AtomicInteger asked = new AtomicInteger();
    InferenceService service =
        (request, handler) -> {
          return switch (asked.incrementAndGet()) {
            case 1 -> throw new StatusException(Status.TOO_LARGE, "limits.queued-size is 1B");
            case 3 -> throw StatusException.unavailable("the queue is full", Duration.ofMillis(1));
            default -> echo.submit(request, handler);
          };
        };
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
      assertEquals(JobsFixture.ITEMS, ended.rows());
      assertEquals(1, ended.failed());
      String first = fixture.output("o").lines().findFirst().orElseThrow();
      assertEquals("{\"item\":0,\"error\":\"limits.queued-size is 1B\"}", first);
    }
  }

  /** Those that had room before have their rows; the others would all be refused as it is. */
  @Test
  void model_thatNeverFits_endsItsJob() throws IOException {
    EchoService echo = EchoService.inline();
    AtomicInteger asked = new AtomicInteger();
    InferenceService service =
        (request, handler) -> {
          if (asked.incrementAndGet() > 2) {
            throw NeverFits.refusal("it needs 2GiB and may have 1GiB").saying("step 1: too large");
          }
          return echo.submit(request, handler);
        };
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertEquals("step 1: too large", ended.reason());
      assertEquals(2, ended.rows());
      assertEquals(
          JobsFixture.rows(2), Files.readString(folder.resolve("o." + id + JobFiles.PARTIAL)));
    }
  }

  @Test
  void items_thatMeetAFault_haveItAsTheirRow() throws IOException {
    EchoService service = EchoService.inline();
    service.refusal = new IllegalStateException("on demand");
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
      assertEquals(JobsFixture.ITEMS, ended.failed());
      service.refusal = null;
      for (Error fault : List.of(new OutOfMemoryError(), new StackOverflowError())) {
        service.fault = fault;
        String output = fault.getClass().getSimpleName();
        id = jobs.submit(JobsFixture.fileRequest(output), Caller.ANYBODY).spec().id();
        ended = JobsFixture.ended(jobs, id);
        assertEquals(JobState.DONE, ended.state(), ended.reason());
        assertEquals(1, ended.failed());
        String first = fixture.output(output).lines().findFirst().orElseThrow();
        assertTrue(first.contains("\"error\":\"a fault of the server"), first);
      }
    }
  }

  /** There is one thread: others need it. */
  @Test
  void job_thatFailsOnAFault_endsAndLeavesItsThread() throws IOException {
    AtomicInteger rows = new AtomicInteger();
    JobStep.Hook hook =
        step -> {
          if (step == JobStep.WRITE_ROW && rows.incrementAndGet() == 2) {
            throw new StackOverflowError("on demand");
          }
        };
    try (Jobs jobs = fixture.open(EchoService.inline(), hook)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String next = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertEquals(
          "a fault of the server: java.lang.StackOverflowError: on demand", ended.reason());
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, next).state());
    }
  }

  @Test
  void job_whoseEndCannotBeWritten_endsAndLeavesItsThread() throws IOException {
    AtomicInteger ends = new AtomicInteger();
    JobStep.Hook hook =
        step -> {
          if (step == JobStep.WRITE_END && ends.incrementAndGet() <= 2) {
            throw new IllegalStateException("on demand");
          }
        };
    try (Jobs jobs = fixture.open(EchoService.inline(), hook)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String next = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("on demand"), ended.reason());
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, next).state());
    }
  }

  @Test
  void item_whoseOutputHasNoJsonForm_countsAsFailed() throws IOException {
    EchoService service = EchoService.holding();
    String items =
        "{\"model\":\"echo_BYTES\",\"output_file\":\"o\",\"items\":[{\"inputs\":[{\"name\":\"x\","
            + "\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"a\"]}]}]}";
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(items.getBytes(UTF_8), Caller.ANYBODY).spec().id();
      while (service.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      service.pending.removeFirst().completeWith(new byte[] {1, 0, 0, 0, (byte) 0xff});
      assertEquals(1, JobsFixture.ended(jobs, id).failed());
      ModelCounters counters = fixture.statistics.of(new ModelVersion("echo_BYTES", 2));
      assertEquals(0, counters.pending());
      assertEquals(1, counters.failure().count());
    }
  }

  @Test
  void job_queueFullOrModelAway_asksAgain() throws IOException {
    EchoService service = EchoService.inline();
    service.refusal = StatusException.unavailable("the queue is full", Duration.ofSeconds(1));
    try (Jobs jobs = fixture.open(service)) {
      JobStatus job = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
      while (jobs.show(job.spec().id()).state() != JobState.RUNNING) {
        Thread.onSpinWait();
      }
      service.refusal = null;
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, job.spec().id()).state());
      assertEquals(JobsFixture.rows(JobsFixture.ITEMS), fixture.output("o"));
    }
  }

  /** There is one thread: who waits for a model must not keep it. */
  @Test
  void job_modelGoesOutOfService_leavesItsThreadToOthersUntilItIsBack() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String cancelled = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      String other = jobs.submit(ofAnother(), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      fixture.catalog.gone.add("echo");
      JobsFixture.completeUntilEnded(service, jobs, other);
      assertEquals(JobState.DONE, jobs.show(other).state());
      assertEquals(JobState.QUEUED, jobs.show(id).state());
      assertTrue(jobs.show(id).reason().contains("\"echo\" is unknown"), jobs.show(id).reason());
      assertEquals(3, jobs.show(id).rows());
      jobs.remove(cancelled);
      assertEquals(JobState.CANCELLED, JobsFixture.ended(jobs, cancelled).state());

      fixture.catalog.gone.remove("echo");
      JobsFixture.completeUntilEnded(service, jobs, id);
      assertEquals(JobsFixture.rows(JobsFixture.ITEMS), fixture.output("o"));
    }
  }

  /** With one thread, each of them finds its model away, one after another. */
  @Test
  void jobs_whoseModelIsBack_goOnInTheOrderInWhichTheyCame() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String first = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String second = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      fixture.catalog.gone.add("echo");
      while (!jobs.show(second).reason().contains("is unknown")) {
        JobsFixture.completeAll(service);
      }
      fixture.catalog.gone.remove("echo");
      while (!jobs.show(second).state().isEnd()) {
        if (jobs.show(second).state() == JobState.RUNNING) {
          assertEquals(JobState.DONE, jobs.show(first).state());
        }
        JobsFixture.completeAll(service);
      }
    }
  }

  /** By the length of their input alone: nothing is known of the model yet, and nobody ages. */
  @Test
  void jobs_thatWait_beginWithTheShortest() throws IOException {
    fixture.ageing = OptionalDouble.of(0);
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
      String longer = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      String shorter = jobs.submit(ofAnother(), Caller.ANYBODY).spec().id();
      while (!jobs.show(longer).state().isEnd()) {
        if (jobs.show(longer).state() == JobState.RUNNING) {
          assertEquals(JobState.DONE, jobs.show(shorter).state());
        }
        JobsFixture.completeAll(service);
      }
    }
  }

  /** There is one thread, which offline jobs may have for days, and one for online jobs alone. */
  @Test
  void onlineJob_doesNotWaitForOfflineOnes() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
      jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY);
      JobsFixture.awaitPending(service, 3);
      byte[] online = JobsFixture.request(JobsFixture.ONE_ITEM + ",\"class\":\"online\"");
      String id = jobs.submit(online, Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 4);
      service.pending.removeLast().complete();
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
      assertEquals(JobsFixture.rows(1), fixture.output("q"));
      while (jobs.list().stream().anyMatch(job -> !job.state().isEnd())) {
        JobsFixture.completeAll(service);
      }
    }
  }

  private static byte[] ofAnother() {
    return ("{\"model\":\"background\"," + JobsFixture.ONE_ITEM + "}").getBytes(UTF_8);
  }

  @Test
  void remove_runningJob_cancelsItAndThenForgetsIt() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String second = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      assertEquals(JobState.CANCELLED, jobs.remove(second).state(), "it was waiting");
      EchoService.Pending last = service.pending.getLast();
      jobs.remove(id);
      JobsFixture.completeUntilEnded(service, jobs, id);
      assertEquals(JobState.CANCELLED, JobsFixture.ended(jobs, id).state());
      assertTrue(last.isCancelled());
      assertFalse(Files.exists(folder.resolve("o")));
      jobs.remove(id);
      assertEquals(Status.NOT_FOUND, JobsFixture.refused(() -> jobs.show(id)));
    }
    try (Jobs again = fixture.open(service)) {
      assertEquals(1, again.list().size());
      assertEquals(JobState.CANCELLED, again.list().getFirst().state());
    }
  }

  /** Of an item that was done while the one before it was not, nobody takes the answer. */
  @Test
  void remove_runningJob_leavesNoRequestUnderWay() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      service.pending.removeLast().complete();
      jobs.remove(id);
      JobsFixture.completeUntilEnded(service, jobs, id);
    }
    List<ModelCounters> asked = fixture.statistics.all();
    assertEquals(List.of(0L), asked.stream().map(ModelCounters::pending).toList());
  }

  @Test
  void stop_inTheMiddle_theNextServerGoesOnBehindTheLastRow() throws IOException {
    EchoService service = EchoService.holding();
    Jobs jobs = fixture.open(service);
    String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
    JobsFixture.awaitPending(service, 3);
    service.pending.removeFirst().complete();
    JobsFixture.awaitPending(service, 3);
    Thread stop = Thread.ofPlatform().start(jobs::close);
    while (stop.isAlive()) {
      JobsFixture.completeAll(service);
    }
    EchoService inline = EchoService.inline();
    try (Jobs again = fixture.open(inline)) {
      assertTrue(again.show(id).rows() >= 1, () -> again.show(id).toString());
      assertEquals(JobState.DONE, JobsFixture.ended(again, id).state());
      assertEquals(JobsFixture.rows(JobsFixture.ITEMS), fixture.output("o"));
    }
  }

  /** All of them, not the oldest alone. */
  @Test
  void stop_ofItemsThatRun_keepsTheirRows() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      jobs.beginStop();
      JobsFixture.completeAll(service);
      assertTrue(jobs.stop(Duration.ofDays(1)));
      assertEquals(JobState.QUEUED, jobs.show(id).state());
      assertEquals(3, jobs.show(id).rows());
    }
  }

  /** As offline items wait for as long as there is online work. */
  @Test
  void stopAndRemove_ofItemsThatHaveNotBegun_waitForNone() throws IOException {
    EchoService service = EchoService.holding();
    service.endsWithdrawn = true;
    try (Jobs jobs = fixture.open(service);
        service) {
      String removed = jobs.submit(JobsFixture.fileRequest("removed"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      jobs.remove(removed);
      assertEquals(JobState.CANCELLED, JobsFixture.ended(jobs, removed).state());
      String left = jobs.submit(JobsFixture.fileRequest("left"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      assertTrue(jobs.stop(Duration.ofDays(1)));
      assertEquals(JobState.QUEUED, jobs.show(left).state());
      assertEquals(List.of(), service.pending);
    }
  }

  @Test
  void stop_ofItemsThatRun_waitsForNoLongerThanTold() throws IOException {
    EchoService service = EchoService.holding();
    Jobs jobs = fixture.open(service);
    jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
    JobsFixture.awaitPending(service, 3);
    assertFalse(jobs.stop(Duration.ZERO));
    Thread close = Thread.ofPlatform().start(jobs::close);
    while (close.isAlive()) {
      JobsFixture.completeAll(service);
    }
  }
}
