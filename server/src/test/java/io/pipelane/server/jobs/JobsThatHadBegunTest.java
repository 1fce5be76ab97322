package io.pipelane.server.jobs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import java.io.IOException;
import java.time.Duration;
import java.util.OptionalDouble;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Jobs after a restart, one at a time: one that had begun, and one that had not. */
class JobsThatHadBegunTest extends JobsInAFolder {
  private String begun = "";
  private String other = "";

  /** The one that had not begun is shorter, which counts under srtf. */
  @BeforeEach
  void stopBehindThreeItemsOfTheFirst() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      begun = jobs.submit(JobsFixture.fileRequest("begun"), Caller.ANYBODY).spec().id();
      JobsFixture.awaitPending(service, 3);
      String items = "{\"model\":\"background\"," + JobsFixture.ONE_ITEM + "}";
      other = jobs.submit(items.getBytes(UTF_8), Caller.ANYBODY).spec().id();
      jobs.beginStop();
      JobsFixture.completeAll(service);
      assertTrue(jobs.stop(Duration.ofDays(1)));
      assertEquals(3, jobs.show(begun).rows());
    }
  }

  private void awaitTheOther(Jobs jobs, EchoService service) {
    while (!jobs.show(other).state().isEnd()) {
      if (jobs.show(other).state() == JobState.RUNNING) {
        assertEquals(JobState.DONE, jobs.show(begun).state(), "it has not gone on first");
      }
      JobsFixture.completeAll(service);
    }
    assertEquals(JobState.DONE, jobs.show(begun).state());
    assertEquals(JobState.DONE, jobs.show(other).state());
  }

  @Test
  void shorterOneThatHadNotBegun_waits() throws IOException {
    fixture.ageing = OptionalDouble.of(0);
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      awaitTheOther(jobs, service);
    }
  }

  @Test
  void whileItsModelIsImported_noneBegins() throws IOException {
    fixture.catalog.importing.add("echo");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      JobsFixture.await(
          () -> {
            assertEquals(JobState.QUEUED, jobs.show(other).state());
            return jobs.show(begun).reason().contains("is being imported")
                && jobs.show(other).reason().equals(JobLine.BEGUN_GO_FIRST);
          });
      fixture.catalog.importing.clear();
      awaitTheOther(jobs, service);
    }
  }

  /** It may never come back. */
  @Test
  void whoseModelIsNotThere_keepsNobodyWaiting() throws IOException {
    fixture.catalog.gone.add("echo");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      JobsFixture.completeUntilEnded(service, jobs, other);
      assertEquals(JobState.DONE, jobs.show(other).state());
      assertEquals(JobState.QUEUED, jobs.show(begun).state());
    }
  }

  @Test
  void isCancelledWhileItsModelIsImported_keepsNobodyWaiting() throws IOException {
    fixture.catalog.importing.add("echo");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      JobsFixture.await(() -> jobs.show(begun).reason().contains("is being imported"));
      assertEquals(JobState.CANCELLED, jobs.remove(begun).state());
      JobsFixture.completeUntilEnded(service, jobs, other);
      assertEquals(JobState.DONE, jobs.show(other).state());
    }
  }
}
