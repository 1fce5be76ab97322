package io.pipelane.server.jobs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Jobs whose folder has no room for what they write. */
class FullDiskTest extends JobsInAFolder {
  private static final Path FULL = Path.of("/dev/full");
  private static final int ITEMS = 600;
  private static final String NO_ROOM = "No space left on device";
  private static final String SUM_REQUEST =
      "{\"model\":\"sum\",\"input_file\":\"many.jsonl\",\"output_file\":\"o\"}";

  @BeforeEach
  void assumeThatDisksCanBeFull() {
    assumeTrue(Files.exists(FULL));
  }

  /** Before a step there is no room any more for a file of the job that is submitted. */
  private JobStep.Hook full(JobStep step, String file) {
    return reached -> {
      if (reached == step) {
        Path draft = remembered().getFirst();
        String name = draft.getFileName().toString();
        String id = name.replace(WholeFile.DRAFT, "");
        Files.createSymbolicLink(draft.resolve(file.formatted(id)), FULL);
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
  void jobThatRuns_saysWhichFileItIs_andGoesOnOnceThereIsRoom() throws IOException {
    JobStep.Hook hook = full(JobStep.PUBLISH, "../../o.%s" + JobFiles.PARTIAL);
    try (Jobs jobs = fixture.open(EchoService.inline(), hook)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      assertTold("its rows, o." + id + ".partial, or its files in .jobs/", waitsForRoom(jobs, id));
      Files.delete(folder.resolve("o." + id + JobFiles.PARTIAL));
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
    }
    assertEquals(JobsFixture.rows(JobsFixture.ITEMS), fixture.output("o"));
  }

  @Test
  void jobThatWaitsForRoom_goesOnAfterARestart() throws IOException {
    JobStep.Hook hook = full(JobStep.PUBLISH, "../../o.%s" + JobFiles.PARTIAL);
    String id;
    try (Jobs jobs = fixture.open(EchoService.inline(), hook)) {
      id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      assertTrue(waitsForRoom(jobs, id).contains("goes on by itself"));
      assertTrue(jobs.stop(Duration.ofDays(1)));
    }
    Files.delete(folder.resolve("o." + id + JobFiles.PARTIAL));
    try (Jobs again = fixture.open(EchoService.inline())) {
      assertEquals(JobState.DONE, JobsFixture.ended(again, id).state());
    }
    assertEquals(JobsFixture.rows(JobsFixture.ITEMS), fixture.output("o"));
  }

  /** Nor for what its end is written to. */
  @Test
  void jobThatIsCancelled_hasEndedAfterARestartToo() throws IOException {
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
      assertTrue(waitsForRoom(jobs, id).contains("goes on by itself"));
      JobStatus _ = jobs.remove(id);
      assertEquals(JobState.CANCELLED, JobsFixture.ended(jobs, id).state());
    }
    try (Jobs again = fixture.open(EchoService.inline())) {
      JobStatus known = again.show(id);
      assertEquals(JobState.FAILED, known.state());
      assertTrue(known.reason().contains("how it ended could not be written"), known.reason());
      JobStatus _ = again.remove(id);
      assertEquals(List.of(), remembered());
    }
  }

  /** The reason of a job that waits for room. */
  private static String waitsForRoom(Jobs jobs, String id) {
    return findsNoRoom(jobs, id, JobState.QUEUED).reason();
  }

  /** A job as it is when it has found no room, and is in some state. */
  private static JobStatus findsNoRoom(Jobs jobs, String id, JobState state) {
    while (true) {
      JobStatus now = jobs.show(id);
      if (now.state() == state && now.reason().contains(NO_ROOM)) {
        return now;
      }
      JobsFixture.await(() -> !jobs.show(id).equals(now));
    }
  }

  /** A disk has room again once a step has found none. */
  private static JobStep.Hook fullOnce(JobStep step) {
    AtomicBoolean isFull = new AtomicBoolean(true);
    return reached -> {
      if (reached == step && isFull.compareAndSet(true, false)) {
        throw new IOException(NO_ROOM);
      }
    };
  }

  /** Two jobs would wait for each other's room else. */
  @Test
  void jobThatWaitsForRoom_holdsNoRowsThatDoNotCount() throws IOException {
    fixture.retryPause = Duration.ofDays(1);
    try (Jobs jobs = fixture.open(EchoService.inline(), fullOnce(JobStep.FLUSH_ROWS))) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String _ = waitsForRoom(jobs, id);
      assertEquals(0, Files.size(folder.resolve("o." + id + JobFiles.PARTIAL)));
    }
  }

  @Test
  void jobThatTriesAgain_saysWhatItFound_untilRowsCount() throws IOException {
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service, fullOnce(JobStep.FLUSH_PROGRESS));
        service) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      JobsFixture.await(
          () -> {
            boolean isFull = jobs.show(id).reason().contains(NO_ROOM);
            if (!isFull) {
              JobsFixture.completeAll(service);
            }
            return isFull;
          });
      JobStatus _ = findsNoRoom(jobs, id, JobState.RUNNING);
      JobsFixture.completeUntilEnded(service, jobs, id);
      assertEquals(JobState.DONE, jobs.show(id).state());
      assertEquals("", jobs.show(id).reason());
    }
  }

  @Test
  void inputThatChangesWhileItsJobWaitsForRoom_endsTheJob() throws IOException {
    JobStep.Hook hook = full(JobStep.PUBLISH, "../../o.%s" + JobFiles.PARTIAL);
    try (Jobs jobs = fixture.open(EchoService.inline(), hook)) {
      String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
      String _ = waitsForRoom(jobs, id);
      fixture.writeInput("in.jsonl", JobsFixture.ITEMS + 1);
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.FAILED, ended.state());
      assertTrue(ended.reason().contains("has changed"), ended.reason());
    }
  }

  /**
   * A flush that finds no room for progress may have brought it to disk, or not; then the power
   * fails, before the next row or when other progress is half written.
   */
  @ParameterizedTest
  @CsvSource({"true, WRITE_ROW", "true, FLUSH_PROGRESS", "false, FLUSH_PROGRESS"})
  void crashAfterProgressFoundNoRoom_costsNoRowAndRepeatsNone(boolean isThere, JobStep crash)
      throws IOException {
    String sums = output("sum", JobStep.WRITE_INPUT, new SummingService(), 0);
    Files.delete(folder.resolve("o"));
    byte[] request = SUM_REQUEST.getBytes(UTF_8);
    FullThenCrashing hook = new FullThenCrashing(crash);
    String id;
    try (Jobs jobs = fixture.open(new SummingService(), hook)) {
      id = jobs.submit(request, Caller.ANYBODY).spec().id();
      JobsFixture.await(() -> hook.hasCrashed.get());
    }
    if (!isThere) {
      long halfWritten = Journal.read(hook.progress).number();
      hook.onDisk[(int) (halfWritten % 2 * 4096)] ^= 1;
      Files.write(hook.progress, hook.onDisk);
    }
    try (Jobs again = fixture.open(new SummingService())) {
      JobStatus ended = JobsFixture.ended(again, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
    }
    assertEquals(sums, Files.readString(folder.resolve("o")));
  }

  /** The third flush of progress finds no room, and the step after that is the last one. */
  private final class FullThenCrashing implements JobStep.Hook {
    final AtomicBoolean hasCrashed = new AtomicBoolean();
    volatile Path progress = Path.of("");

    /** What is on disk of the progress before it is written the third time. */
    volatile byte[] onDisk = {};

    private final JobStep crash;
    private int writes;
    private boolean isFull;

    FullThenCrashing(JobStep crash) {
      this.crash = crash;
    }

    @Override
    public void before(JobStep reached) throws IOException {
      if (hasCrashed.get() || (isFull && reached == crash)) {
        hasCrashed.set(true);
        throw new IllegalStateException("crash");
      }
      if (reached == JobStep.WRITE_PROGRESS && ++writes == 3) {
        progress = remembered().getFirst().resolve(JobRecords.PROGRESS);
        onDisk = Files.readAllBytes(progress);
      }
      if (reached == JobStep.FLUSH_PROGRESS && writes == 3) {
        isFull = true;
        throw new IOException(NO_ROOM);
      }
    }
  }

  @Test
  void isBehind_saysSoOfTheSystemsReasonAlone() {
    assertTrue(FullDisk.isBehind(new IOException(NO_ROOM)));
    assertTrue(FullDisk.isBehind(new IOException("Disk quota exceeded")));
    assertTrue(FullDisk.isBehind(new FileSystemException("o", "p", NO_ROOM)));
    assertFalse(FullDisk.isBehind(new FileSystemException(NO_ROOM, null, "Permission denied")));
    assertFalse(FullDisk.isBehind(new NoSuchFileException(NO_ROOM)));
    assertFalse(FullDisk.isBehind(new IOException(NO_ROOM + ".1.partial has 0 bytes")));
    assertFalse(FullDisk.isBehind(new IOException()));
  }

  /** Each step that needs room may find none, at any row, and find some later. */
  @ParameterizedTest
  @EnumSource(
      value = JobStep.class,
      names = {
        "WRITE_ROW",
        "FLUSH_ROWS",
        "WRITE_STATE",
        "WRITE_PROGRESS",
        "FLUSH_PROGRESS",
        "WRITE_END",
        "PUBLISH_OUTPUT",
        "FLUSH_OUTPUT"
      })
  void diskThatIsFullNowAndThen_costsNoRowAndRepeatsNone(JobStep step) throws IOException {
    long seed = new Random().nextLong();
    assertEquals(
        JobsFixture.rows(ITEMS),
        output("echo", step, EchoService.inline(), seed),
        () -> "seed " + seed);
    assertEquals(
        output("sum", JobStep.WRITE_INPUT, new SummingService(), seed),
        output("sum", step, new SummingService(), seed),
        () -> "seed " + seed);
  }

  /** What a job writes for which a step finds no room the first time, and some times later. */
  private String output(String model, JobStep step, InferenceService service, long seed)
      throws IOException {
    Random random = new Random(seed);
    double probability = step == JobStep.WRITE_ROW ? 0.002 : 0.3; // Pauses double.
    AtomicInteger passages = new AtomicInteger();
    JobStep.Hook hook =
        reached -> {
          if (reached == step
              && (passages.getAndIncrement() == 0 || random.nextDouble() < probability)) {
            throw new IOException(NO_ROOM);
          }
        };
    fixture.writeInput("many.jsonl", ITEMS);
    Path output = folder.resolve("o");
    Files.deleteIfExists(output);
    String request =
        "{\"model\":\"%s\",\"input_file\":\"many.jsonl\",\"output_file\":\"o\"}".formatted(model);
    try (Jobs jobs = fixture.open(service, hook)) {
      String id = jobs.submit(request.getBytes(UTF_8), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), () -> "seed " + seed + ": " + ended.reason());
      assertEquals(ITEMS, ended.rows(), () -> "seed " + seed);
      JobStatus _ = jobs.remove(id);
    }
    return Files.readString(output);
  }

  private void assertTold(String beginning, String message) {
    assertTrue(message.startsWith(beginning), message);
    assertTrue(message.contains(NO_ROOM), message);
    assertTrue(message.contains("jobs.folder, " + folder.toAbsolutePath()), message);
    assertTrue(message.contains("room"), message);
  }
}
