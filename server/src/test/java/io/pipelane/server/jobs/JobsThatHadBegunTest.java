package io.pipelane.server.jobs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.placement.FakeDevices;
import io.pipelane.server.placement.JobPlacement;
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
      awaitThatItIsImportedAndTheOtherWaits(jobs);
      JobsFixture.await(() -> fixture.catalog.wanted.contains("echo")); // By a thread that looks.
      fixture.catalog.importing.clear();
      awaitTheOther(jobs, service);
    }
  }

  /** Others would have it for days. */
  @Test
  void whileItsModelIsImported_theOnlyDeviceIsKeptForIt() throws IOException {
    fixture.catalog.importing.add("echo");
    EchoService service = EchoService.holding();
    FakeDevices devices = new FakeDevices("a");
    try (JobPlacement placement = devices.open(folder.resolve("placement"))) {
      devices.look(placement);
      try (Jobs jobs = fixture.open(service, placement, 2);
          service) {
        awaitThatItIsImportedAndTheOtherWaits(jobs);
        fixture.catalog.importing.clear();
        awaitTheOther(jobs, service);
      }
    }
  }

  private void awaitThatItIsImportedAndTheOtherWaits(Jobs jobs) {
    JobsFixture.await(
        () -> {
          assertEquals(JobState.QUEUED, jobs.show(other).state());
          return jobs.show(begun).reason().contains("is being imported")
              && jobs.show(other).reason().equals(JobLine.BEGUN_GO_FIRST);
        });
  }

  /** As many threads are kept as there are such jobs. */
  @Test
  void whileItsModelIsImported_othersBeginOnTheOtherThreads() throws IOException {
    fixture.catalog.importing.add("echo");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service, 2);
        service) {
      JobsFixture.completeUntilEnded(service, jobs, other);
      assertEquals(JobState.DONE, jobs.show(other).state());
      assertEquals(JobState.QUEUED, jobs.show(begun).state());
    }
  }

  /** Until its owner does something about it. */
  @Test
  void whoseModelIsInQuarantine_keepsNobodyWaiting() throws IOException {
    fixture.catalog.quarantined.add("echo");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      JobsFixture.completeUntilEnded(service, jobs, other);
      assertEquals(JobState.DONE, jobs.show(other).state());
      assertEquals(JobState.QUEUED, jobs.show(begun).state());
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
