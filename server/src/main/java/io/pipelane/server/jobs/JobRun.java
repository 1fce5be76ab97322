package io.pipelane.server.jobs;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Takes a job from where it is to its end, or to where it has to be left. Belongs to a thread. */
final class JobRun {
  /*
   * Items are asked for some at a time and end in any order; their rows are written in the items'
   * order. Rows count from a commit on, which comes after so many rows or so much time, whenever
   * nothing is to be waited for before the next row, and at the end.
   */
  private static final System.Logger LOG = System.getLogger(JobRun.class.getName());
  private static final int MOST_UNCOMMITTED = 256;
  private static final long LONGEST_UNCOMMITTED_NANOS = Duration.ofSeconds(1).toNanos();

  private final Job job;
  private final JobSpec spec;
  private final JobFiles files;
  private final JobsSettings settings;
  private final ModelCatalog catalog;
  private final InferenceService service;
  private final InferenceStatistics statistics;
  private final JobStep.Hook hook;
  private final LongSupplier nanoClock;
  private final Deque<JobItem> window = new ArrayDeque<>();
  private long nextNumber;
  private long committedNanos;

  JobRun(
      Job job,
      JobFiles files,
      JobsSettings settings,
      ModelCatalog catalog,
      InferenceService service,
      InferenceStatistics statistics,
      JobStep.Hook hook,
      LongSupplier nanoClock) {
    this.job = job;
    this.spec = job.spec();
    this.files = files;
    this.settings = settings;
    this.catalog = catalog;
    this.service = service;
    this.statistics = statistics;
    this.hook = hook;
    this.nanoClock = nanoClock;
  }

  /** Runs the job; whatever is wrong with it ends it with a reason. */
  void run() {
    try {
      Path input = input();
      boolean complete;
      try (Journal journal =
          new Journal(files.partial(spec), files.of(spec.id()).resolve("progress"), hook)) {
        committedNanos = nanoClock.getAsLong();
        complete = work(input, journal);
      }
      if (complete) {
        files.newOutput(spec.outputFile());
        end(JobState.DONE, "");
      } else if (job.isCancelled()) {
        end(JobState.CANCELLED, "");
      } else {
        job.running(JobState.QUEUED, "");
      }
    } catch (StatusException e) {
      fail(String.valueOf(e.getMessage()));
    } catch (IOException e) {
      fail("its files: " + e);
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "job " + spec.id() + " failed on a fault", e);
      fail("a fault of the server: " + e);
    }
  }

  private Path input() throws IOException {
    if (spec.inputFile().isEmpty()) {
      return files.of(spec.id()).resolve(Jobs.ITEMS);
    }
    Path file = files.input(spec.inputFile().get());
    if (Files.size(file) != spec.inputBytes()
        || Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS).toMillis()
            != spec.inputModifiedMillis()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "input_file \"%s\" has changed since the job was submitted"
              .formatted(spec.inputFile().get()));
    }
    return file;
  }

  /** Returns whether every item has its row. */
  private boolean work(Path input, Journal journal) throws IOException {
    Progress begin = journal.committed();
    try (ItemFile items = new ItemFile(input, begin.inputBytes(), settings.maxItemBytes())) {
      nextNumber = begin.rows();
      while (!job.isStopped()) {
        fill(items);
        @Nullable JobItem first = window.peek();
        if (first == null) {
          commit(journal);
          return true;
        }
        if (first.isStarted()) {
          finish(first, journal);
        }
      }
      commit(journal);
      return false;
    } finally {
      window.forEach(JobItem::abandon);
    }
  }

  private void fill(ItemFile items) throws IOException {
    while (window.size() < settings.parallelItems() && !job.isStopped()) {
      ItemFile.@Nullable Item item = items.next();
      if (item == null) {
        return;
      }
      window.add(new JobItem(nextNumber++, item));
      start(window.getLast());
    }
  }

  /** Asks for an item, unless the job has to be left. */
  private void start(JobItem item) {
    Optional<ServedModel> model = model();
    model.ifPresent(found -> item.start(found, service, statistics, spec.priority()));
  }

  /** The model, once it is in service; empty when the job has to be left. */
  private Optional<ServedModel> model() {
    while (!job.isStopped()) {
      try {
        ServedModel model =
            catalog.resolve(spec.model().model(), Long.toString(spec.model().version()));
        job.running(JobState.RUNNING, "");
        return Optional.of(model);
      } catch (StatusException e) {
        job.running(JobState.QUEUED, String.valueOf(e.getMessage()));
        job.rest(settings.retryPause());
      }
    }
    return Optional.empty();
  }

  /** Writes the row of the oldest item, or has it asked for again. */
  private void finish(JobItem item, Journal journal) throws IOException {
    JobItem.Row row;
    try {
      row = item.await();
    } catch (StatusException e) {
      job.rest(settings.retryPause());
      start(item);
      return;
    }
    window.remove();
    journal.add(row.line(), row.hasFailed(), item.next());
    boolean due = nanoClock.getAsLong() - committedNanos >= LONGEST_UNCOMMITTED_NANOS;
    if (due || journal.uncommitted() >= MOST_UNCOMMITTED) {
      commit(journal);
    }
  }

  private void commit(Journal journal) throws IOException {
    journal.commit();
    committedNanos = nanoClock.getAsLong();
    job.progressed(journal.committed());
  }

  private void fail(String reason) {
    try {
      end(JobState.FAILED, reason);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.ERROR, "the end of job " + spec.id() + " was not kept", e);
      job.ended(JobState.FAILED, reason);
    }
  }

  private void end(JobState state, String reason) throws IOException {
    hook.before(JobStep.WRITE_END);
    JobEnd end = new JobEnd(state, reason);
    JobFiles.write(files.of(spec.id()).resolve(JobEnd.FILE), end.encoded());
    if (state == JobState.DONE) {
      hook.before(JobStep.PUBLISH_OUTPUT);
      publishOutput(files, spec);
    }
    job.ended(state, reason);
  }

  /** Gives the rows of a job that is done their name, unless they have it. */
  static void publishOutput(JobFiles files, JobSpec spec) throws IOException {
    Path partial = files.partial(spec);
    if (Files.exists(partial)) {
      Files.move(partial, files.output(spec), StandardCopyOption.ATOMIC_MOVE);
      JobFiles.flush(JobFiles.folderOf(partial));
    }
  }
}
