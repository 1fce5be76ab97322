package io.pipelane.server.jobs;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.switcher.JobWork;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Jobs as their files say they are: what is asked for becomes a job on disk, and what is on disk
 * becomes jobs again after a restart. Safe for any thread; a job's files have one writer at a time.
 */
final class JobRecords {
  static final String ITEMS = "items.jsonl";
  static final String PROGRESS = "progress";

  private static final int MOST_LOOKED_AT = 1 << 20;

  private static final JobEnd UNENDED = new JobEnd(JobState.QUEUED, "");
  private static final JobEnd UNKNOWN_END =
      new JobEnd(
          JobState.FAILED,
          "it failed, or was cancelled: how it ended could not be written, as below jobs.folder"
              + " there was no room, or the server might not write; submit it again");

  private static final System.Logger LOG = System.getLogger(JobRecords.class.getName());

  private final JobFiles files;
  private final RandomGenerator random;
  private final Clock clock;
  private final JobStep.Hook hook;

  /**
   * Those of a folder.
   *
   * @param random for the jobs' names
   */
  JobRecords(JobFiles files, RandomGenerator random, Clock clock, JobStep.Hook hook) {
    this.files = files;
    this.random = random;
    this.clock = clock;
    this.hook = hook;
  }

  /** All that can be read, in the order in which they came. */
  List<Job> recovered() throws IOException {
    List<Job> found = new ArrayList<>();
    for (Path folder : files.jobs()) {
      try {
        found.add(recovered(folder));
      } catch (IOException | RuntimeException e) { // The others are not to blame.
        LOG.log(System.Logger.Level.ERROR, "the job in " + folder + " cannot be read", e);
      }
    }
    found.sort(
        Comparator.<Job>comparingLong(job -> job.spec().createdMillis())
            .thenComparing(job -> job.spec().id()));
    return found;
  }

  private Job recovered(Path folder) throws IOException {
    boolean hasEnded = Files.exists(folder.resolve(JobFiles.ENDED_SPEC));
    Path known = folder.resolve(hasEnded ? JobFiles.ENDED_SPEC : JobFiles.SPEC);
    JobSpec spec = JobJson.spec(JobJson.parse(Files.readAllBytes(known)));
    Progress progress = Journal.read(folder.resolve(PROGRESS));
    JobEnd end = JobEnd.read(folder).orElse(hasEnded ? UNKNOWN_END : UNENDED);
    if (end.state() == JobState.DONE) {
      end = published(folder, spec, progress, end);
    }
    Job job = new Job(spec, JobState.QUEUED, progress, work(spec));
    if (end.state().isEnd()) {
      job.ended(end.state(), end.reason());
    } else {
      estimate(job, progress);
    }
    return job;
  }

  /**
   * A job whose output's name something else was given meanwhile, or whose rows somebody has
   * changed, is not done after all. Where there are none they have the output's name, or had it
   * before somebody took the output away.
   */
  private JobEnd published(Path folder, JobSpec spec, Progress progress, JobEnd done)
      throws IOException {
    try {
      if (Files.exists(files.partial(spec), LinkOption.NOFOLLOW_LINKS)) {
        files.publishOutput(spec, progress, JobStep.Hook.NONE);
      }
      return done;
    } catch (StatusException e) {
      JobEnd failed = new JobEnd(JobState.FAILED, String.valueOf(e.getMessage()));
      WholeFile.write(folder.resolve(JobEnd.FILE), failed.encoded());
      return failed;
    }
  }

  /**
   * A job that is asked for; nothing of it is on disk yet.
   *
   * @throws StatusException for files that cannot be a job's
   */
  Job asked(JobRequest wanted, ServedModel model) throws IOException {
    files.newOutput(wanted.outputFile());
    long inputBytes = items(wanted).length;
    long modified = 0;
    if (wanted.inputFile().isPresent()) {
      Path input = files.input(wanted.inputFile().get());
      inputBytes = Files.size(input);
      modified = Files.getLastModifiedTime(input, LinkOption.NOFOLLOW_LINKS).toMillis();
    }
    JobSpec spec =
        new JobSpec(
            HexFormat.of().toHexDigits(random.nextLong()),
            model.version().anyEdition(),
            model.content(),
            wanted.inputFile(),
            inputBytes,
            modified,
            wanted.outputFile(),
            wanted.priority(),
            wanted.sizeHint(),
            wanted.repeat(),
            wanted.group(),
            clock.millis());
    return new Job(spec, JobState.QUEUED, Progress.NONE, work(spec));
  }

  private static byte[] items(JobRequest wanted) {
    return wanted.items().getBytes(StandardCharsets.UTF_8);
  }

  /** A job's work, which came when the job did, by the clock of requests. */
  private JobWork work(JobSpec spec) {
    long ageMillis = Math.max(0, clock.millis() - spec.createdMillis());
    return new JobWork(System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(ageMillis));
  }

  /**
   * Keeps a job that was asked for: it is there after a crash as soon as this returns.
   *
   * @throws IOException nothing of it is kept then
   */
  void keep(Job job, JobRequest wanted) throws IOException {
    try {
      write(job.spec(), wanted);
    } catch (IOException e) {
      files.discard(job.spec().id());
      throw e;
    }
    estimate(job, Progress.NONE);
  }

  private void write(JobSpec spec, JobRequest wanted) throws IOException {
    Path draft = Files.createDirectory(files.draft(spec.id()));
    if (spec.inputFile().isEmpty()) {
      hook.before(JobStep.WRITE_INPUT);
      WholeFile.write(draft.resolve(ITEMS), items(wanted));
    }
    hook.before(JobStep.WRITE_SPEC);
    WholeFile.write(draft.resolve(JobFiles.SPEC), JobJson.write(JobJson.of(spec)));
    hook.before(JobStep.PUBLISH);
    files.publish(spec.id());
  }

  /** Says how many items a job that waits has left: by the length of those behind, or the first. */
  private void estimate(Job job, Progress progress) {
    JobSpec spec = job.spec();
    if (progress.rows() > 0) {
      job.work().left(spec.unread(progress.rows(), progress.inputBytes()));
      return;
    }
    try (ItemFile items = new ItemFile(files.input(spec), firstBytes(spec), 0, 0, 1)) {
      ItemFile.@Nullable Item first = items.next();
      if (first != null) {
        job.work().left(1 + spec.unread(1, first.next()));
      }
    } catch (IOException | StatusException e) {
      LOG.log(System.Logger.Level.DEBUG, "the length of job " + spec.id() + " is unknown", e);
    }
  }

  /** How much is looked at to find the first item, which may be any length. */
  private static long firstBytes(JobSpec spec) {
    return Math.min(spec.inputBytes(), MOST_LOOKED_AT);
  }

  /**
   * A job that no thread has, or will have, has ended.
   *
   * @throws IOException when that is not kept; it has ended all the same
   */
  void cancelled(Job job) throws IOException {
    JobEnd end = new JobEnd(JobState.CANCELLED, "");
    try {
      files.keepEnd(job.spec(), end);
    } finally {
      job.ended(end.state(), end.reason());
    }
  }
}
