package io.pipelane.server.jobs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Caller;
import io.pipelane.server.access.Keys;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.NeverFits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobsTest {
  private static final String ONE_ITEM =
      "\"items\":[" + JobsFixture.item(0) + "],\"output_file\":\"q\"";

  @TempDir Path folder;
  private JobsFixture fixture = new JobsFixture(Path.of(""));

  @BeforeEach
  void writeInput() throws IOException {
    fixture = new JobsFixture(folder);
    fixture.writeInput("in.jsonl", JobsFixture.ITEMS);
  }

  /** Completes each request once. */
  private static void completeAll(EchoService service) {
    while (!service.pending.isEmpty()) {
      service.pending.removeFirst().complete();
    }
  }

  private static void awaitPending(EchoService service, int requests) {
    while (service.pending.size() < requests) {
      Thread.onSpinWait();
    }
  }

  /** Completes requests until a job has ended. */
  private static void completeUntilEnded(EchoService service, Jobs jobs, String id) {
    while (!jobs.show(id).state().isEnd()) {
      completeAll(service);
    }
  }

  private static Status refused(Runnable work) {
    return assertThrows(StatusException.class, work::run).status();
  }

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
      service.fault = new OutOfMemoryError("on demand");
      id = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
      assertEquals(1, ended.failed());
      String first = fixture.output("p").lines().findFirst().orElseThrow();
      assertTrue(first.contains("\"error\":\"a fault of the server"), first);
    }
  }

  @Test
  void item_whoseOutputHasNoJsonForm_countsAsFailed() throws IOException {
    EchoService service = EchoService.holding();
    String items =
        "{\"model\":\"echo_BYTES\",\"output_file\":\"o\",\"items\":[{\"inputs\":[{\"name\":\"x\","
            + "\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"a\"]}]}]}";
    try (Jobs jobs = fixture.open(service)) {
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
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String cancelled = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      String other = jobs.submit(ofAnother(), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
      fixture.catalog.gone.add("echo");
      completeUntilEnded(service, jobs, other);
      assertEquals(JobState.DONE, jobs.show(other).state());
      assertEquals(JobState.QUEUED, jobs.show(id).state());
      assertTrue(jobs.show(id).reason().contains("\"echo\" is unknown"), jobs.show(id).reason());
      assertEquals(3, jobs.show(id).rows());
      jobs.remove(cancelled);
      assertEquals(JobState.CANCELLED, JobsFixture.ended(jobs, cancelled).state());

      fixture.catalog.gone.remove("echo");
      completeUntilEnded(service, jobs, id);
      assertEquals(JobsFixture.rows(JobsFixture.ITEMS), fixture.output("o"));
    }
  }

  /** With one thread, each of them finds its model away, one after another. */
  @Test
  void jobs_whoseModelIsBack_goOnInTheOrderInWhichTheyCame() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      String first = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String second = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
      fixture.catalog.gone.add("echo");
      while (!jobs.show(second).reason().contains("is unknown")) {
        completeAll(service);
      }
      fixture.catalog.gone.remove("echo");
      while (!jobs.show(second).state().isEnd()) {
        if (jobs.show(second).state() == JobState.RUNNING) {
          assertEquals(JobState.DONE, jobs.show(first).state());
        }
        completeAll(service);
      }
    }
  }

  /** By the length of their input alone: nothing is known of the model yet, and nobody ages. */
  @Test
  void jobs_thatWait_beginWithTheShortest() throws IOException {
    fixture.ageing = OptionalDouble.of(0);
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
      String longer = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      String shorter = jobs.submit(ofAnother(), Caller.ANYBODY).spec().id();
      while (!jobs.show(longer).state().isEnd()) {
        if (jobs.show(longer).state() == JobState.RUNNING) {
          assertEquals(JobState.DONE, jobs.show(shorter).state());
        }
        completeAll(service);
      }
    }
  }

  /** There is one thread, which offline jobs may have for days, and one for online jobs alone. */
  @Test
  void onlineJob_doesNotWaitForOfflineOnes() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
      jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY);
      awaitPending(service, 3);
      byte[] online = JobsFixture.request(ONE_ITEM + ",\"class\":\"online\"");
      String id = jobs.submit(online, Caller.ANYBODY).spec().id();
      awaitPending(service, 4);
      service.pending.removeLast().complete();
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
      assertEquals(JobsFixture.rows(1), fixture.output("q"));
      while (jobs.list().stream().anyMatch(job -> !job.state().isEnd())) {
        completeAll(service);
      }
    }
  }

  private static byte[] ofAnother() {
    return ("{\"model\":\"background\"," + ONE_ITEM + "}").getBytes(UTF_8);
  }

  @Test
  void remove_runningJob_cancelsItAndThenForgetsIt() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String second = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
      assertEquals(JobState.CANCELLED, jobs.remove(second).state(), "it was waiting");
      EchoService.Pending last = service.pending.getLast();
      jobs.remove(id);
      completeUntilEnded(service, jobs, id);
      assertEquals(JobState.CANCELLED, JobsFixture.ended(jobs, id).state());
      assertTrue(last.isCancelled());
      assertFalse(Files.exists(folder.resolve("o")));
      jobs.remove(id);
      assertEquals(Status.NOT_FOUND, refused(() -> jobs.show(id)));
    }
    try (Jobs again = fixture.open(service)) {
      assertEquals(1, again.list().size());
      assertEquals(JobState.CANCELLED, again.list().getFirst().state());
    }
  }

  @Test
  void stop_inTheMiddle_theNextServerGoesOnBehindTheLastRow() throws IOException {
    EchoService service = EchoService.holding();
    Jobs jobs = fixture.open(service);
    String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
    awaitPending(service, 3);
    service.pending.removeFirst().complete();
    awaitPending(service, 3);
    Thread stop = Thread.ofPlatform().start(jobs::close);
    while (stop.isAlive()) {
      completeAll(service);
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
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
      jobs.beginStop();
      completeAll(service);
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
    try (Jobs jobs = fixture.open(service)) {
      String removed = jobs.submit(JobsFixture.fileRequest("removed"), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
      jobs.remove(removed);
      assertEquals(JobState.CANCELLED, JobsFixture.ended(jobs, removed).state());
      String left = jobs.submit(JobsFixture.fileRequest("left"), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
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
    awaitPending(service, 3);
    assertFalse(jobs.stop(Duration.ZERO));
    Thread close = Thread.ofPlatform().start(jobs::close);
    while (close.isAlive()) {
      completeAll(service);
    }
  }

  @Test
  void inputFile_thatChanged_endsTheJob() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      jobs.submit(JobsFixture.fileRequest("first"), Caller.ANYBODY);
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String first = jobs.list().getFirst().spec().id();
      awaitPending(service, 3); // The first has looked at its file.
      fixture.writeInput("in.jsonl", 1);
      jobs.remove(first);
      completeUntilEnded(service, jobs, first);
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("has changed"), ended.reason());
    }
  }

  /** Items behind those that were submitted are none of the job's. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void inputFile_thatChangesWhileItsJobRuns_endsTheJob(boolean shrinks) throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
      fixture.writeInput("in.jsonl", JobsFixture.ITEMS + (shrinks ? -1 : 1));
      completeUntilEnded(service, jobs, id);
      JobStatus ended = jobs.show(id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("has changed"), ended.reason());
      assertTrue(ended.rows() <= JobsFixture.ITEMS, ended::toString);
      assertFalse(Files.exists(folder.resolve("o")));
    }
  }

  /** What was answered by then are its rows; nothing is asked of the other content. */
  @Test
  void content_thatChangesWhileItsJobRuns_endsTheJob() throws IOException {
    fixture.catalog.hasContent("echo", "one");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String waiting = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
      fixture.catalog.hasContent("echo", "two");
      completeUntilEnded(service, jobs, id);
      JobStatus ended = jobs.show(id);
      assertEquals(JobState.FAILED, ended.state());
      assertEquals(
          "the content of echo/2 has changed since the job was submitted; submit it again",
          ended.reason());
      assertEquals(3, ended.rows());
      assertEquals(
          JobsFixture.rows(3), Files.readString(folder.resolve("o." + id + JobFiles.PARTIAL)));
      assertEquals(JobState.FAILED, JobsFixture.ended(jobs, waiting).state());
      assertEquals(0, jobs.show(waiting).rows());
    }
  }

  /** Whoever answered the last items may have been asked for as the other content already. */
  @Test
  void content_thatChangesBehindTheLastItem_endsTheJob() throws IOException {
    fixture.catalog.hasContent("echo", "one");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.request(ONE_ITEM), Caller.ANYBODY).spec().id();
      awaitPending(service, 1);
      fixture.catalog.hasContent("echo", "two");
      completeAll(service);
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("has changed"), ended.reason());
      assertEquals(1, ended.rows());
    }
  }

  @Test
  void model_thatGoesBehindTheLastItem_changesNothing() throws IOException {
    fixture.catalog.hasContent("echo", "one");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.request(ONE_ITEM), Caller.ANYBODY).spec().id();
      awaitPending(service, 1);
      fixture.catalog.gone.add("echo");
      completeAll(service);
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
    }
  }

  /** A job that does not say which content it is of goes on. */
  @ParameterizedTest
  @ValueSource(strings = {"", "one", "two"})
  void content_ofAJobThatGoesOn_isTheOneThatItWasSubmittedFor(String before) throws IOException {
    fixture.catalog.hasContent("echo", before);
    EchoService service = EchoService.holding();
    service.endsWithdrawn = true;
    Jobs jobs = fixture.open(service);
    String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
    assertTrue(jobs.stop(Duration.ofDays(1)));
    jobs.close();
    fixture.catalog.hasContent("echo", "one");
    try (Jobs again = fixture.open(EchoService.inline())) {
      JobState end = before.equals("two") ? JobState.FAILED : JobState.DONE;
      assertEquals(end, JobsFixture.ended(again, id).state());
    }
  }

  @Test
  void rows_thatAreRemovedWhileTheirJobRuns_endTheJob() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      awaitPending(service, 3);
      Files.delete(folder.resolve("o." + id + JobFiles.PARTIAL));
      completeUntilEnded(service, jobs, id);
      assertEquals(JobState.FAILED, jobs.show(id).state());
      assertEquals("its rows were removed: o." + id + ".partial", jobs.show(id).reason());
    }
    try (Jobs again = fixture.open(service)) {
      assertEquals(JobState.FAILED, again.list().getFirst().state());
    }
  }

  /** Between any two looks at them. */
  @ParameterizedTest
  @CsvSource({
    "WRITE_END, true",
    "WRITE_END, false",
    "PUBLISH_OUTPUT, true",
    "PUBLISH_OUTPUT, false"
  })
  void rows_thatAreRemovedOrCutAsTheirJobEnds_haveItFail(JobStep step, boolean removes)
      throws IOException {
    JobStep.Hook hook =
        reached -> {
          if (reached == step) {
            change(removes);
          }
        };
    String reason;
    try (Jobs jobs = fixture.open(EchoService.inline(), hook)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state(), ended.reason());
      reason = ended.reason();
      String rows = "o." + id + ".partial";
      int bytes = JobsFixture.rows(JobsFixture.ITEMS).length();
      assertEquals(
          removes
              ? "its rows were removed: " + rows
              : "its rows were changed: %s has 7 bytes, and %d were written".formatted(rows, bytes),
          reason);
      assertFalse(Files.exists(folder.resolve("o")));
    }
    try (Jobs again = fixture.open(EchoService.inline())) {
      assertEquals(JobState.FAILED, again.list().getFirst().state());
      assertEquals(reason, again.list().getFirst().reason());
    }
  }

  /** Removes the only job's rows, or leaves 7 bytes of them. */
  private void change(boolean removes) {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(each -> each.toString().endsWith(JobFiles.PARTIAL)).toList()) {
        if (removes) {
          Files.delete(file);
        } else {
          Files.writeString(file, "damaged");
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "../x",
        "/etc/passwd",
        "a/../../x",
        ".jobs/x",
        ".hidden",
        "a//b",
        "",
        "x\\u0000",
        "way/out/x",
        "missing/x",
        "a\\\\b",
        "x/."
      })
  void names_thatLeadOutOfTheFolder_areRefused(String name) throws IOException {
    Path outside = Files.createTempDirectory("outside");
    Files.createDirectories(folder.resolve("way"));
    Files.createSymbolicLink(folder.resolve("way/out"), outside);
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] output =
          JobsFixture.request("\"input_file\":\"in.jsonl\",\"output_file\":\"" + name + "\"");
      assertEquals(Status.INVALID_ARGUMENT, refused(() -> jobs.submit(output, Caller.ANYBODY)));
      byte[] input = JobsFixture.request("\"input_file\":\"" + name + "\",\"output_file\":\"o\"");
      assertEquals(Status.INVALID_ARGUMENT, refused(() -> jobs.submit(input, Caller.ANYBODY)));
      assertEquals(List.of(), jobs.list());
    }
    Files.delete(outside);
  }

  @Test
  void inputFile_thatIsALink_isRefused() throws IOException {
    Files.createSymbolicLink(folder.resolve("link"), Path.of("/etc/hostname"));
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] request = JobsFixture.request("\"input_file\":\"link\",\"output_file\":\"o\"");
      assertEquals(Status.NOT_FOUND, refused(() -> jobs.submit(request, Caller.ANYBODY)));
    }
  }

  @Test
  void outputFile_thatIsTaken_isRefused() throws IOException {
    Files.writeString(folder.resolve("mine"), "precious");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service)) {
      assertEquals(
          Status.INVALID_ARGUMENT,
          refused(() -> jobs.submit(JobsFixture.fileRequest("mine"), Caller.ANYBODY)));
      JobStatus job = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
      assertEquals(
          Status.INVALID_ARGUMENT,
          refused(() -> jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY)));
      jobs.remove(job.spec().id());
      while (!jobs.show(job.spec().id()).state().isEnd()) {
        completeAll(service);
      }
    }
    assertEquals("precious", fixture.output("mine"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          "output_file":"o"                                        | has neither items nor an input
          "items":[{}],"input_file":"in.jsonl","output_file":"o"   | has both items and an input
          "input_file":"in.jsonl","output_file":"%s"               | segments have 128 characters
          "input_file":"%s","output_file":"o"                      | segments have 128 characters
          "input_file":"in.jsonl","output_file":"o","version":true | must be a text
          """)
  void requests_thatAreNone_areToldWhatIsWrong(String members, String reason) throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] request = JobsFixture.request(members.formatted("x".repeat(129)));
      StatusException refusal =
          assertThrows(StatusException.class, () -> jobs.submit(request, Caller.ANYBODY));
      assertTrue(String.valueOf(refusal.getMessage()).contains(reason), refusal::getMessage);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"2", "\"2\""})
  void version_isANumberOrAText(String version) throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] request = JobsFixture.request(ONE_ITEM + ",\"version\":" + version);
      String id = jobs.submit(request, Caller.ANYBODY).spec().id();
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"output_file\":\"o\"",
        "\"input_file\":\"in.jsonl\"",
        "\"items\":[],\"output_file\":\"o\"",
        "\"items\":[1],\"output_file\":\"o\"",
        "\"items\":[{}],\"input_file\":\"in.jsonl\",\"output_file\":\"o\"",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"class\":\"urgent\"",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"size_hint\":0",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"repeat\":0",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"repeat\":1000001",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"extra\":1",
        "\"input_file\":7,\"output_file\":\"o\"",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o.0123456789abcdef.partial\""
      })
  void requests_thatAreNone_areRefused(String members) throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] request = JobsFixture.request(members);
      assertEquals(Status.INVALID_ARGUMENT, refused(() -> jobs.submit(request, Caller.ANYBODY)));
      assertEquals(List.of(), jobs.list());
    }
  }

  @Test
  void keyForOfflineWork_submitsNoOnlineJob() throws IOException {
    String entries = Keys.entry("batch", "roles: [infer], priority: offline");
    try (AccessControl access = Keys.of(folder, entries);
        Jobs jobs = fixture.open(EchoService.inline())) {
      Caller caller = access.identify(null, "batch");
      String files = "\"input_file\":\"in.jsonl\",\"output_file\":\"o\"";
      byte[] online = JobsFixture.request(files + ",\"class\":\"online\"");
      assertEquals(Status.PERMISSION_DENIED, refused(() -> jobs.submit(online, caller)));
      assertEquals(List.of(), jobs.list());
      JobStatus job = jobs.submit(JobsFixture.request(files), caller);
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, job.spec().id()).state());
    }
  }

  @Test
  void limits_ofRequestsAndJobs_areKept() throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] huge = new byte[JobRequest.MOST_BYTES + 1];
      assertEquals(Status.TOO_LARGE, refused(() -> jobs.submit(huge, Caller.ANYBODY)));
      for (String output : List.of("a", "b", "c")) {
        jobs.submit(JobsFixture.fileRequest(output), Caller.ANYBODY);
      }
      assertEquals(
          Status.UNAVAILABLE,
          refused(() -> jobs.submit(JobsFixture.fileRequest("d"), Caller.ANYBODY)));
      byte[] unknown =
          "{\"model\":\"none\",\"input_file\":\"in.jsonl\",\"output_file\":\"d\"}".getBytes(UTF_8);
      assertEquals(Status.NOT_FOUND, refused(() -> jobs.submit(unknown, Caller.ANYBODY)));
    }
  }

  @Test
  void folder_ofAnotherServer_isRefused() throws IOException {
    try (Jobs _ = fixture.open(EchoService.inline())) {
      StatusException error =
          assertThrows(StatusException.class, () -> fixture.open(EchoService.inline()));
      assertEquals(Status.UNAVAILABLE, error.status());
    }
    fixture.open(EchoService.inline()).close();
  }
}
