package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Jobs whose folder has no room for what they write. */
class FullDiskTest extends JobsInAFolder {
  private static final Path FULL = Path.of("/dev/full");

  @BeforeEach
  void assumeThatDisksCanBeFull() {
    assumeTrue(Files.exists(FULL));
  }

  /** Before a step there is no room any more for a file of the job that is submitted. */
  private JobStep.Hook full(JobStep step, String file) {
    return reached -> {
      if (reached == step) {
        try {
          Path draft = remembered().getFirst();
          String name = draft.getFileName().toString();
          String id = name.replace(WholeFile.DRAFT, "");
          Files.createSymbolicLink(draft.resolve(file.formatted(id)), FULL);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    };
  }

  /** What is in the folder of jobs, but for its lock. */
  private List<Path> remembered() throws IOException {
    try (Stream<Path> all = Files.list(folder.resolve(".jobs"))) {
      return all.filter(path -> !path.endsWith("lock")).toList();
    }
  }

  @Test
  void submit_isToldSo_andLeavesNothing() throws IOException {
    String items = "\"items\":[" + JobsFixture.item(0) + "],\"output_file\":\"o\"";
    JobStep.Hook hook = full(JobStep.WRITE_SPEC, JobFiles.SPEC + WholeFile.DRAFT);
    try (Jobs jobs = fixture.open(EchoService.inline(), hook)) {
      StatusException refusal =
          assertThrows(
              StatusException.class, () -> jobs.submit(JobsFixture.request(items), Caller.ANYBODY));
      assertEquals(Status.UNAVAILABLE, refusal.status());
      assertTold("the job cannot be kept: ", String.valueOf(refusal.getMessage()));
      assertEquals(List.of(), jobs.list());
      assertEquals(List.of(), remembered());
    }
  }

  @Test
  void jobThatRuns_endsAndSaysWhichFileItIs() throws IOException {
    JobStep.Hook hook = full(JobStep.PUBLISH, "../../o.%s" + JobFiles.PARTIAL);
    try (Jobs jobs = fixture.open(EchoService.inline(), hook)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertTold("its rows, o." + id + ".partial, or its files in .jobs/", ended.reason());
    }
  }

  /** Nor for what its end is written to. */
  @Test
  void jobThatRan_hasFailedAfterARestartToo() throws IOException {
    JobStep.Hook rows = full(JobStep.PUBLISH, "../../o.%s" + JobFiles.PARTIAL);
    JobStep.Hook end = full(JobStep.WRITE_END, JobEnd.FILE + WholeFile.DRAFT);
    JobStep.Hook both =
        step -> {
          rows.before(step);
          end.before(step);
        };
    String id;
    try (Jobs jobs = fixture.open(EchoService.inline(), both)) {
      id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      assertEquals(JobState.FAILED, JobsFixture.ended(jobs, id).state());
    }
    try (Jobs again = fixture.open(EchoService.inline())) {
      JobStatus known = again.show(id);
      assertEquals(JobState.FAILED, known.state());
      assertTrue(known.reason().contains("how it ended could not be written"), known.reason());
      JobStatus _ = again.remove(id);
      assertEquals(List.of(), remembered());
    }
  }

  private void assertTold(String beginning, String message) {
    assertTrue(message.startsWith(beginning), message);
    assertTrue(message.contains("No space left on device"), message);
    assertTrue(message.contains("jobs.folder, " + folder.toAbsolutePath()), message);
    assertTrue(message.contains("room"), message);
  }
}
