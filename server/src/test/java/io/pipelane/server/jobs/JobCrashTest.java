package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.access.Caller;
import io.pipelane.server.http.EchoService;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Jobs whose server dies before a step, with what was not flushed being lost, or not. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobCrashTest {
  private static final int ITEMS = 600;
  private static final int CRASHES = 4;

  @TempDir Path root;

  /** Ends a thread as a crash would: nothing is tidied up. */
  private static final class Crash extends Error {
    private static final long serialVersionUID = 1;

    Crash() {
      super("thrown on purpose", null, false, false);
    }
  }

  /** Crashes at one passage of a step; nothing is written from then on. */
  private static final class Crashing implements JobStep.Hook {
    final CountDownLatch crashed = new CountDownLatch(1);
    private final JobStep step;
    private final AtomicInteger passages;

    Crashing(JobStep step, int passage) {
      this.step = step;
      this.passages = new AtomicInteger(passage);
    }

    @Override
    public void before(JobStep reached) {
      if (reached == step && passages.decrementAndGet() == 0) {
        crashed.countDown();
      }
      if (crashed.getCount() == 0) {
        throw new Crash();
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = JobStep.class,
      names = {"WRITE_INPUT", "WRITE_SPEC", "PUBLISH", "FORGET", "DELETE"},
      mode = EnumSource.Mode.EXCLUDE)
  void run_crashAtAnyStep_noRowIsLostOrThereTwice(JobStep step) throws Exception {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int passage : List.of(1, 2, 3)) {
      JobsFixture fixture = new JobsFixture(Files.createDirectory(root.resolve("" + passage)));
      fixture.writeInput("in.jsonl", ITEMS);
      byte[] request = JobsFixture.fileRequest("out.jsonl");
      String id = crash(fixture, EchoService::inline, request, step, passage, random);
      try (Jobs jobs = fixture.open(EchoService.inline())) {
        assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state(), () -> "seed " + seed);
        assertEquals(ITEMS, jobs.show(id).rows(), () -> "seed " + seed);
      }
      assertEquals(JobsFixture.rows(ITEMS), fixture.output("out.jsonl"), () -> "seed " + seed);
    }
  }

  /** A crash takes the state with it; what was checkpointed is gone on from. */
  @ParameterizedTest
  @EnumSource(
      value = JobStep.class,
      names = {"WRITE_INPUT", "WRITE_SPEC", "PUBLISH", "FORGET", "DELETE"},
      mode = EnumSource.Mode.EXCLUDE)
  void run_ofAModelThatKeepsState_crashAtAnyStep_rowsAreThoseOfARunWithout(JobStep step)
      throws Exception {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    byte[] request = JobsFixture.sumRequest(2);
    JobsFixture undisturbed = new JobsFixture(Files.createDirectory(root.resolve("undisturbed")));
    undisturbed.writeInput("in.jsonl", ITEMS);
    finish(undisturbed, "", request, seed);
    for (int passage : List.of(1, 3, 2 * JobsFixture.CHECKPOINT + 1)) {
      JobsFixture fixture = new JobsFixture(Files.createDirectory(root.resolve("" + passage)));
      fixture.writeInput("in.jsonl", ITEMS);
      String id = crash(fixture, SummingService::new, request, step, passage, random);
      finish(fixture, id, request, seed);
      assertEquals(
          undisturbed.output("out.jsonl"), fixture.output("out.jsonl"), () -> "seed " + seed);
    }
  }

  /** Lets a job of sums go to its end; begins it where it is not there. */
  private static void finish(JobsFixture fixture, String id, byte[] request, long seed)
      throws IOException {
    try (Jobs jobs = fixture.open(new SummingService())) {
      JobStatus ended =
          JobsFixture.ended(
              jobs, id.isEmpty() ? jobs.submit(request, Caller.ANYBODY).spec().id() : id);
      assertEquals(JobState.DONE, ended.state(), () -> "seed " + seed + ": " + ended.reason());
      assertEquals(2 * ITEMS, ended.rows(), () -> "seed " + seed);
    }
  }

  /** Runs a job into a crash, some times over; where there is none, it is done. */
  private static String crash(
      JobsFixture fixture,
      Supplier<InferenceService> services,
      byte[] request,
      JobStep step,
      int passage,
      Random random)
      throws Exception {
    String id = "";
    for (int crash = 0; crash < CRASHES; crash++) {
      Crashing hook = new Crashing(step, passage);
      Jobs jobs = fixture.open(services.get(), hook);
      if (id.isEmpty()) {
        id = jobs.submit(request, Caller.ANYBODY).spec().id();
      }
      String job = id;
      JobsFixture.await(() -> hook.crashed.getCount() == 0 || jobs.show(job).state().isEnd());
      jobs.close();
      loseSome(fixture, id, step, random);
    }
    return id;
  }

  /** What was not flushed may be gone, or there in part. */
  private static void loseSome(JobsFixture fixture, String id, JobStep step, Random random)
      throws IOException {
    Path progress = fixture.folder.resolve(".jobs/" + id + "/progress");
    Path rows = fixture.folder.resolve("out.jsonl." + id + ".partial");
    if (!Files.exists(rows) || !Files.exists(progress)) {
      return;
    }
    Progress latest = Journal.read(progress);
    if (step == JobStep.FLUSH_PROGRESS && latest.number() > 0 && random.nextBoolean()) {
      try (RandomAccessFile file = new RandomAccessFile(progress.toFile(), "rw")) {
        file.seek(latest.number() % 2 * 4096 + random.nextInt(Progress.BYTES));
        file.write(random.nextInt());
      }
    }
    long kept = Journal.read(progress).outputBytes();
    try (RandomAccessFile file = new RandomAccessFile(rows.toFile(), "rw")) {
      long length = kept + random.nextLong(file.length() - kept + 1);
      file.setLength(length);
      if (length > kept && random.nextBoolean()) {
        file.seek(length - 1);
        file.write(0);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = JobStep.class,
      names = {"WRITE_INPUT", "WRITE_SPEC", "PUBLISH"})
  void submit_crashAtAnyStep_theJobIsNotThereAndItsOutputIsFree(JobStep step) throws Exception {
    JobsFixture fixture = new JobsFixture(root);
    byte[] request =
        JobsFixture.request("\"items\":[" + JobsFixture.item(0) + "],\"output_file\":\"o\"");
    Jobs jobs = fixture.open(EchoService.inline(), new Crashing(step, 1));
    try {
      jobs.submit(request, Caller.ANYBODY);
    } catch (Crash e) {
      // As was to be.
    }
    jobs.close();
    try (Jobs again = fixture.open(EchoService.inline())) {
      assertEquals(List.of(), again.list());
      String id = again.submit(request, Caller.ANYBODY).spec().id();
      assertEquals(JobState.DONE, JobsFixture.ended(again, id).state());
    }
    assertEquals(JobsFixture.rows(1), fixture.output("o"));
  }

  @Test
  void outputThatIsMadeAfterTheCrash_isNotReplaced() throws Exception {
    JobsFixture fixture = new JobsFixture(root);
    String id = crashAsTheOutputIsPublished(fixture);
    Files.writeString(root.resolve("o"), "precious");
    for (int start = 0; start < 2; start++) {
      try (Jobs again = fixture.open(EchoService.inline())) {
        assertEquals(JobState.FAILED, again.show(id).state());
        assertTrue(again.show(id).reason().contains("\"o\" exists"), again.show(id).reason());
      }
      assertEquals("precious", fixture.output("o"));
      assertEquals(JobsFixture.rows(ITEMS), fixture.output("o." + id + ".partial"));
    }
  }

  /** Answers the job. */
  private static String crashAsTheOutputIsPublished(JobsFixture fixture) throws Exception {
    fixture.writeInput("in.jsonl", ITEMS);
    Crashing hook = new Crashing(JobStep.PUBLISH_OUTPUT, 1);
    Jobs jobs = fixture.open(EchoService.inline(), hook);
    String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
    hook.crashed.await();
    jobs.close();
    return id;
  }

  /** Those that are removed look like an output that its owner has taken away. */
  @Test
  void rowsThatAreCutAfterTheCrash_areNoOutput() throws Exception {
    JobsFixture fixture = new JobsFixture(root);
    String id = crashAsTheOutputIsPublished(fixture);
    Files.writeString(root.resolve("o." + id + ".partial"), "damaged");
    for (int start = 0; start < 2; start++) {
      try (Jobs again = fixture.open(EchoService.inline())) {
        assertEquals(JobState.FAILED, again.show(id).state());
        assertTrue(again.show(id).reason().contains("has 7 bytes"), again.show(id).reason());
      }
      assertTrue(Files.notExists(root.resolve("o")));
    }
  }

  /** A job that was cancelled, and ran before, so that it has files of each kind. */
  @ParameterizedTest
  @CsvSource({"FORGET, 1, 1", "DELETE, 1, 0", "DELETE, 2, 0", "DELETE, 3, 0", "DELETE, 4, 0"})
  void remove_crashAtAnyStep_theJobIsThereAsItWasOrNotAtAll(JobStep step, int passage, int left)
      throws Exception {
    JobsFixture fixture = new JobsFixture(root);
    fixture.writeInput("in.jsonl", ITEMS);
    EchoService service = EchoService.holding();
    Crashing hook = new Crashing(step, passage);
    Jobs jobs = fixture.open(service, hook);
    String id = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY).spec().id();
    JobsFixture.awaitPending(service, 1);
    jobs.remove(id);
    JobsFixture.await(
        () -> {
          while (!service.pending.isEmpty()) {
            service.pending.removeFirst().complete();
          }
          return jobs.show(id).state().isEnd();
        });
    assertThrows(Crash.class, () -> jobs.remove(id));
    jobs.close();
    try (Jobs again = fixture.open(EchoService.inline())) {
      assertEquals(left, again.list().size());
      again.list().forEach(job -> assertEquals(JobState.CANCELLED, job.state()));
      for (JobStatus job : again.list()) {
        again.remove(job.spec().id());
      }
      assertEquals(List.of("lock"), names(root.resolve(".jobs")));
    }
    assertEquals(List.of(".jobs", "in.jsonl"), names(root));
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void folderThatSaysOfNoJobWhatToDo_isTidiedUp() throws IOException {
    Path rest = Files.createDirectories(root.resolve(".jobs/0123456789abcdef"));
    Files.write(rest.resolve("progress"), new byte[8192]);
    try (Jobs jobs = new JobsFixture(root).open(EchoService.inline())) {
      assertEquals(List.of(), jobs.list());
      assertEquals(List.of("lock"), names(root.resolve(".jobs")));
    }
  }

  /** Both places of a progress may be read from a file that was never flushed. */
  @Test
  void progress_ofZeros_isNone() throws IOException {
    Path file = root.resolve("progress");
    Files.write(file, new byte[8192]);
    assertEquals(Progress.NONE, Journal.read(file));
  }
}
