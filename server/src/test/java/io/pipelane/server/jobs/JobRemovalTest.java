package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Jobs that are cancelled or forgotten where a file of theirs is in the way. */
class JobRemovalTest extends JobsInAFolder {
  /** A file that nothing of a job can have the name of, or be deleted as, until it is removed. */
  private Path obstacle(String inFolder) throws IOException {
    Files.createDirectories(folder.resolve(inFolder));
    return Files.createFile(folder.resolve(inFolder).resolve("obstacle"));
  }

  private static String told(Jobs jobs, String id) {
    StatusException refusal = assertThrows(StatusException.class, () -> jobs.remove(id));
    assertEquals(Status.UNAVAILABLE, refusal.status());
    return String.valueOf(refusal.getMessage());
  }

  private List<String> listed(Jobs jobs) {
    return jobs.list().stream().map(job -> job.spec().id()).toList();
  }

  @Test
  void jobThatCannotBeForgotten_isThereAsItWas_untilItCan() throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String next = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      JobStatus _ = JobsFixture.ended(jobs, next);
      Path obstacle = obstacle(".jobs/" + id + WholeFile.DRAFT);
      String message = told(jobs, id);
      assertTrue(
          message.startsWith(
              "job %s is still there, with its files in .jobs/%s: ".formatted(id, id)),
          message);
      assertTrue(message.contains("jobs.folder, " + folder), message);
      assertTrue(message.endsWith("then delete it again"), message);
      assertEquals(List.of(id, next), listed(jobs));
      assertEquals(ended, jobs.show(id));
      Files.delete(obstacle);
      JobStatus _ = jobs.remove(id);
      assertEquals(List.of(next), listed(jobs));
    }
    try (Jobs again = fixture.open(EchoService.inline())) {
      assertEquals(1, again.list().size());
    }
  }

  @Test
  void jobWhoseCancellationIsNotKept_isCancelled_andCanBeForgotten() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      String running = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String id = jobs.submit(JobsFixture.fileRequest("p"), Caller.ANYBODY).spec().id();
      while (service.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      Path obstacle = obstacle(".jobs/" + id + "/" + JobEnd.FILE + WholeFile.DRAFT);
      Path other = obstacle(".jobs/" + id + "/" + JobFiles.ENDED_SPEC);
      String message = told(jobs, id);
      assertTrue(
          message.startsWith("job %s is cancelled, but goes on after a restart: ".formatted(id)),
          message);
      assertTrue(message.endsWith("then delete it again"), message);
      assertEquals(JobState.CANCELLED, jobs.show(id).state());
      Files.delete(obstacle);
      Files.delete(other);
      JobStatus _ = jobs.remove(id);
      assertEquals(List.of(running), listed(jobs));
      jobs.beginStop();
      while (!service.pending.isEmpty()) {
        service.pending.removeFirst().complete();
      }
    }
  }
}
