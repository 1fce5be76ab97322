package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs whose input, content or rows change before they have ended. */
class JobChangesTest extends JobsInAFolder {
  @Test
  void inputFile_thatChanged_endsTheJob() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      jobs.submit(JobsFixture.fileRequest("first"), Caller.ANYBODY);
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String first = jobs.list().getFirst().spec().id();
      JobsFixture.awaitPending(service, 3); // The first has looked at its file.
      fixture.writeInput("in.jsonl", 1);
      jobs.remove(first);
      JobsFixture.completeUntilEnded(service, jobs, first);
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
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      fixture.writeInput("in.jsonl", JobsFixture.ITEMS + (shrinks ? -1 : 1));
      JobsFixture.completeUntilEnded(service, jobs, id);
      JobStatus ended = jobs.show(id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("has changed"), ended.reason());
      assertTrue(ended.rows() <= JobsFixture.ITEMS, ended::toString);
      assertFalse(Files.exists(folder.resolve("o")));
    }
  }

  /** The rest would be computed for nothing. */
  @Test
  void inputFile_thatChangesWhileItsJobRuns_endsTheJobAtTheNextCommit() throws IOException {
    int items = 2000;
    fixture.writeInput("in.jsonl", items);
    EchoService echo = EchoService.inline();
    AtomicInteger asked = new AtomicInteger();
    InferenceService service =
        (request, handler) -> {
          if (asked.incrementAndGet() == 3) {
            rewriteInput(items + 1);
          }
          return echo.submit(request, handler);
        };
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("has changed"), ended.reason());
      assertTrue(ended.rows() < items / 2, ended::toString);
    }
  }

  private void rewriteInput(int items) {
    try {
      fixture.writeInput("in.jsonl", items);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What was answered by then are its rows; nothing is asked of the other content. */
  @Test
  void content_thatChangesWhileItsJobRuns_endsTheJob() throws IOException {
    fixture.catalog.hasContent("echo", "one");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String waiting = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      fixture.catalog.hasContent("echo", "two");
      JobsFixture.completeUntilEnded(service, jobs, id);
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
    try (Jobs jobs = fixture.open(service);
        service) {
      String id =
          jobs.submit(JobsFixture.request(JobsFixture.ONE_ITEM), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 1);
      fixture.catalog.hasContent("echo", "two");
      JobsFixture.completeAll(service);
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("has changed"), ended.reason());
      assertEquals(1, ended.rows());
    }
  }

  /** As an ensemble's models may be other ones by the time at which an item goes to them. */
  @Test
  void refusal_thatComesWithOtherContent_isNoRow() throws IOException {
    fixture.catalog.hasContent("echo", "one");
    EchoService echo = EchoService.inline();
    AtomicInteger asked = new AtomicInteger();
    InferenceService service =
        (request, handler) -> {
          if (asked.incrementAndGet() == 3) {
            fixture.catalog.hasContent("echo", "two");
            throw new StatusException(Status.INVALID_ARGUMENT, "there is no input x");
          }
          return echo.submit(request, handler);
        };
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("has changed"), ended.reason());
      assertEquals(
          JobsFixture.rows(2), Files.readString(folder.resolve("o." + id + JobFiles.PARTIAL)));
      assertEquals(2, ended.rows());
    }
  }

  @Test
  void model_thatGoesBehindTheLastItem_changesNothing() throws IOException {
    fixture.catalog.hasContent("echo", "one");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String id =
          jobs.submit(JobsFixture.request(JobsFixture.ONE_ITEM), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 1);
      fixture.catalog.gone.add("echo");
      JobsFixture.completeAll(service);
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

  /** Its rows stay; no more of them are made than there are between two commits. */
  @Test
  void output_whoseNameIsTakenWhileItsJobRuns_endsTheJob() throws IOException {
    fixture.writeInput("in.jsonl", 1000);
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      Files.writeString(folder.resolve("o"), "another's");
      JobsFixture.completeUntilEnded(service, jobs, id);
      JobStatus ended = jobs.show(id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().startsWith("output_file \"o\" exists"), ended.reason());
      assertTrue(ended.rows() > 0 && ended.rows() <= 256, ended::toString);
      String rows = fixture.output("o." + id + ".partial");
      assertEquals(JobsFixture.rows((int) ended.rows()), rows);
      assertEquals("another's", fixture.output("o"));
    }
  }

  @Test
  void output_whoseNameIsTakenBeforeItsJobBegins_endsTheJobAtOnce() throws IOException {
    EchoService service = EchoService.holding();
    service.endsWithdrawn = true;
    Jobs jobs = fixture.open(service);
    String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
    assertTrue(jobs.stop(Duration.ofDays(1)));
    jobs.close();
    Files.writeString(folder.resolve("o"), "another's");
    try (Jobs again = fixture.open(EchoService.inline())) {
      JobStatus ended = JobsFixture.ended(again, id);
      assertEquals(JobState.FAILED, ended.state());
      assertEquals(0, ended.rows());
    }
  }

  @Test
  void rows_thatAreRemovedWhileTheirJobRuns_endTheJob() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      Files.delete(folder.resolve("o." + id + JobFiles.PARTIAL));
      JobsFixture.completeUntilEnded(service, jobs, id);
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
}
