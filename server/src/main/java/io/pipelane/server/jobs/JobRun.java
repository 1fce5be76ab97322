package io.pipelane.server.jobs;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.placement.PlacedJob;
import io.pipelane.switcher.NeverFits;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The work on a job from where it is to its end, or to where it has to be left. Belongs to a
 * thread.
 */
final class JobRun {
  /*
   * Items are asked for some at a time and end in any order; their rows are written in the items'
   * order. Rows count from a commit on. A commit comes after so many rows or so much time, whenever
   * nothing is to be waited for before the next row, and at the end.
   *
   * A job that is to be left withdraws the items that have not begun to run: offline ones may wait
   * for as long as there is online work. Those that run end, and have their rows as far as no item
   * before them is without one.
   *
   * A job that is to move to another device lets the items under way end, has all rows count, and
   * goes on from there as after a restart. Its state, if there is one, begins anew on the other
   * device. So does a job whose model is out of service, which leaves its thread and its device
   * meanwhile. One whose model has another content by then ends, as its rows could not be told
   * apart, and no content may take another's state.
   *
   * The items of a model that keeps state are asked for one by one, and their rows count together
   * with a checkpoint of the state. Where the state is lost (its model was unloaded meanwhile, for
   * instance), the job goes back to the last checkpoint, as it does after a restart. It also goes
   * back when an item fails halfway through an ensemble, where some of its models have made their
   * steps, for a reason that may pass.
   *
   * So it does when the disk is full, again and again, after longer and longer pauses. To write the
   * same row once more would do for a write, but not for a flush that has failed: what it was to
   * bring to disk may be lost though the next one succeeds.
   */
  private static final System.Logger LOG = System.getLogger(JobRun.class.getName());
  private static final int MOST_UNCOMMITTED = 256;
  private static final long LONGEST_UNCOMMITTED_NANOS = Duration.ofSeconds(1).toNanos();

  private static final String STATE_IS_LOST =
      "its state was lost, or changed by half an item; it goes on from its last checkpoint";

  /** Each attempt costs the items since the last commit. */
  private static final Duration LONGEST_FULL_DISK_PAUSE = Duration.ofMinutes(1);

  /** Until a job asks again whether the device is free that it comes to. */
  private static final Duration SETTLING_PAUSE = Duration.ofMillis(10);

  private final Job job;
  private final Optional<PlacedJob> place;
  private final JobSpec spec;
  private final JobFiles files;
  private final JobParts parts;
  private final JobsSettings settings;
  private final JobStep.Hook hook;
  private final LongSupplier nanoClock;
  private final Deque<JobItem> window = new ArrayDeque<>();

  /** Items behind the last checkpoint that are wrong, of a job with several models' state. */
  private final Map<Long, JobItem.Row> wrong = new HashMap<>();

  private Duration fullDiskPause;
  private long nextNumber;
  private long committedNanos;
  private boolean modelIsAway;
  private boolean contentHasChanged;

  /** There once the model is known to keep state. */
  private @Nullable JobSequence sequence;

  /** The way in which the work on a job stopped. */
  private enum Stop {
    COMPLETE,
    LEFT,
    MOVES,
    MODEL_AWAY,
    STATE_LOST,
    NO_ROOM
  }

  JobRun(Job job, JobFiles files, JobParts parts, JobStep.Hook hook, LongSupplier nanoClock) {
    this.job = job;
    this.place = job.place();
    this.spec = job.spec();
    this.files = files;
    this.parts = parts;
    this.settings = parts.settings();
    this.fullDiskPause = settings.retryPause();
    this.hook = hook;
    this.nanoClock = nanoClock;
  }

  /**
   * Runs the job; whatever is wrong with it ends it with a reason.
   *
   * @return whether it waits for its model, to run again once that is in service
   */
  boolean run() {
    try {
      Path input = input();
      requireNewOutput();
      Stop stop;
      do {
        stop = isSettled() ? workWhileThereIsRoom(input) : Stop.LEFT;
        if (stop == Stop.STATE_LOST) { // What has lost it may not be over yet.
          job.running(JobState.QUEUED, STATE_IS_LOST);
          job.rest(settings.retryPause());
        }
      } while (stop == Stop.STATE_LOST || stop == Stop.MOVES || stop == Stop.NO_ROOM);
      if (stop == Stop.COMPLETE) {
        return false;
      } else if (job.isCancelled()) {
        end(JobState.CANCELLED, "");
      } else if (contentHasChanged) {
        throw contentHasChanged();
      } else if (stop == Stop.MODEL_AWAY) {
        return true;
      } else {
        job.running(JobState.QUEUED, "");
      }
    } catch (StatusException e) {
      fail(String.valueOf(e.getMessage()));
    } catch (IOException e) {
      LOG.log(System.Logger.Level.ERROR, "job " + spec.id() + " failed on its files", e);
      fail(trouble(e, "submit it again"));
    } catch (RuntimeException | Error e) { // Its thread is that of other jobs, too.
      LOG.log(System.Logger.Level.ERROR, "job " + spec.id() + " failed on a fault", e);
      fail("a fault of the server: " + e);
    }
    return false;
  }

  /** Works to the end, or until the disk is full; rests for a while then. */
  private Stop workWhileThereIsRoom(Path input) throws IOException {
    try {
      Stop stop = workFromCheckpoint(input);
      if (stop == Stop.COMPLETE) {
        complete();
      }
      return stop;
    } catch (IOException e) {
      if (!FullDisk.isBehind(e)) {
        throw e;
      }
      job.running(JobState.QUEUED, trouble(e, "the job goes on by itself within a minute"));
      job.rest(fullDiskPause);
      Duration next = fullDiskPause.multipliedBy(2);
      fullDiskPause = next.compareTo(LONGEST_FULL_DISK_PAUSE) < 0 ? next : LONGEST_FULL_DISK_PAUSE;
      return Stop.NO_ROOM;
    }
  }

  /** Has the job be done, all of whose rows count. */
  private void complete() throws IOException {
    Path _ = input(); // It is as it was.
    if (isOfOtherContent()) {
      throw contentHasChanged();
    }
    requireNewOutput();
    files.requireRows(spec, job.progress());
    end(JobState.DONE, "");
  }

  private String trouble(IOException cause, String retry) {
    return "its rows, %s, or its files in .jobs/%s: %s"
        .formatted(rowsName(), spec.id(), files.trouble(cause, retry));
  }

  private StatusException contentHasChanged() {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "the content of %s has changed since the job was submitted; submit it again"
            .formatted(spec.model()));
  }

  /**
   * Whether the model has another content than the job's; of one that has gone nothing says so.
   * Looked at behind items, too: an ensemble's go to the models that it has when they are taken,
   * which is after the content was compared.
   */
  private boolean isOfOtherContent() {
    try {
      return !spec.mayBeOf(resolve(parts.catalog(), spec).content());
    } catch (StatusException e) {
      return false;
    }
  }

  /** The name of the file with its rows, in the folder of its output. */
  private String rowsName() {
    return String.valueOf(files.partial(spec).getFileName());
  }

  private boolean mustMove() {
    return place.map(PlacedJob::mustMove).orElse(false);
  }

  /** Waits for the device that the job is to have; false when the job has to be left instead. */
  private boolean isSettled() {
    while (!job.isStopped()) {
      if (place.isEmpty() || place.get().settle()) {
        return true;
      }
      job.running(JobState.QUEUED, JobLine.NO_DEVICE);
      job.rest(SETTLING_PAUSE);
    }
    return false;
  }

  /** Where the items are, which are those that were submitted. */
  private Path input() throws IOException {
    if (spec.inputFile().isEmpty()) {
      return files.of(spec.id()).resolve(JobRecords.ITEMS);
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

  /** Whoever takes the output's name meanwhile has the job end, as its rows could not have it. */
  private void requireNewOutput() throws IOException {
    Path _ = files.newOutput(spec.outputFile());
  }

  /** Works from where the rows that count end. */
  private Stop workFromCheckpoint(Path input) throws IOException {
    try (Journal journal =
        new Journal(files.partial(spec), files.of(spec.id()).resolve(JobRecords.PROGRESS), hook)) {
      committedNanos = nanoClock.getAsLong();
      return work(input, journal);
    } finally {
      if (sequence != null) {
        sequence.end();
        sequence = null;
      }
    }
  }

  private Stop work(Path input, Journal journal) throws IOException {
    Progress begin = journal.committed();
    try (ItemFile items =
        new ItemFile(
            input, spec.inputBytes(), begin.inputBytes(), settings.maxItemBytes(), spec.repeat())) {
      nextNumber = begin.rows();
      while (!job.isStopped()) {
        boolean moves = mustMove();
        if (!moves && !modelIsAway) {
          fill(items, begin);
        }
        @Nullable JobItem first = window.peek();
        if (first == null || ((moves || modelIsAway) && !first.isStarted())) {
          Stop stop = moves ? Stop.MOVES : modelIsAway ? Stop.MODEL_AWAY : Stop.COMPLETE;
          return commit(journal) ? stop : Stop.STATE_LOST;
        }
        if (first.isStarted() && !finish(first, journal, begin)) {
          return Stop.STATE_LOST;
        }
      }
      @Nullable JobItem running = window.peek();
      while (running != null && running.isStarted() && !job.isCancelled()) {
        if (!finish(running, journal, begin)) {
          return Stop.STATE_LOST;
        }
        running = window.peek();
      }
      if (sequence == null || window.stream().noneMatch(JobItem::isStarted)) {
        boolean _ = commit(journal); // Rows whose state is lost are asked for again.
      }
      return Stop.LEFT;
    } finally {
      window.forEach(JobItem::abandon);
      window.clear();
    }
  }

  private void fill(ItemFile items, Progress begin) throws IOException {
    for (JobItem left : window) { // It came, or was to come again, while the job was to move.
      if (!isAskedFor(left, begin)) {
        return;
      }
    }
    while (window.size() < (sequence == null ? settings.parallelItems() : 1) && !job.isStopped()) {
      ItemFile.@Nullable Item item = items.next();
      if (item == null) {
        return;
      }
      window.add(new JobItem(nextNumber++, item));
      job.work().left(window.size() + spec.unread(nextNumber, item.next()));
      if (!isAskedFor(window.getLast(), begin)) {
        return;
      }
    }
  }

  /** Whether an item has been asked for, now at the latest. */
  private boolean isAskedFor(JobItem item, Progress begin) throws IOException {
    if (!item.isStarted()) {
      start(item, begin);
    }
    return item.isStarted();
  }

  /**
   * Asks for an item, unless its model is away, or the job has to be left or to move.
   *
   * @param begin where a state begins that has not begun yet
   */
  private void start(JobItem item, Progress begin) throws IOException {
    Optional<ServedModel> model = model();
    if (model.isEmpty()) {
      return;
    }
    if (sequence == null && model.get().keepsState()) {
      sequence =
          new JobSequence(
              parts.service(),
              spec.model(),
              model.get().options().state().isEmpty(), // It is its models' then.
              "job " + HexFormat.of().toHexDigits(parts.random().nextLong()),
              files.of(spec.id()),
              begin.number(),
              hook);
    }
    JobItem.@Nullable Row row = wrong.get(item.number());
    if (row != null) {
      item.takes(row);
      return;
    }
    Optional<SequenceStep> step =
        sequence == null ? Optional.empty() : Optional.of(sequence.next());
    boolean isTaken = item.start(model.get(), parts, spec.priority(), job.work(), step, place);
    if (isTaken && sequence != null) {
      sequence.begun();
    }
  }

  /**
   * The model; empty where it is not in service as it was, or the job has to be left or to move.
   */
  private Optional<ServedModel> model() {
    if (job.isStopped() || mustMove()) {
      return Optional.empty();
    }
    try {
      ServedModel model = resolve(parts.catalog(), spec);
      if (!spec.mayBeOf(model.content())) {
        contentHasChanged = true;
        modelIsAway = true;
        return Optional.empty();
      }
      job.running(JobState.RUNNING, "");
      return Optional.of(model);
    } catch (StatusException e) {
      job.running(JobState.QUEUED, String.valueOf(e.getMessage()));
      modelIsAway = true;
      return Optional.empty();
    }
  }

  private static ServedModel resolve(ModelCatalog catalog, JobSpec spec) {
    return catalog.resolve(spec.model().model(), Long.toString(spec.model().version()));
  }

  /** Why a job's model is not in service, if it is not. */
  static Optional<StatusException> modelAway(ModelCatalog catalog, JobSpec spec) {
    try {
      ServedModel _ = resolve(catalog, spec);
      return Optional.empty();
    } catch (StatusException e) {
      return Optional.of(e);
    }
  }

  /**
   * Writes the row of the oldest item, or has it asked for again; false when the state is lost that
   * the items before have led to.
   */
  private boolean finish(JobItem item, Journal journal, Progress begin) throws IOException {
    if (!item.endsBefore(job.stop())) {
      window.forEach(job.isCancelled() ? JobItem::cancel : JobItem::withdraw);
    }
    JobItem.Row row;
    try {
      row = item.await();
    } catch (StatusException e) {
      if (NeverFits.isBehind(e)) {
        boolean _ = beginsAnew();
        if (place.map(PlacedJob::neverFits).orElse(false)) {
          return true; // It is asked for on another device.
        }
        boolean _ = commit(journal); // The rows of items before it count.
        throw e;
      }
      boolean isLost = isStateLost() && !beginsAnew(); // It may have had no room to begin.
      if (isLost || (sequence != null && sequence.mayHaveChanged())) {
        return false;
      }
      job.running(JobState.QUEUED, String.valueOf(e.getMessage()));
      job.rest(settings.retryPause());
      start(item, begin);
      return true;
    }
    if (row.hasFailed() && !wrong.containsKey(item.number())) {
      if (hasCostTheState(item, row)) {
        return false;
      }
      if (isOfOtherContent()) { // Which may have refused it.
        contentHasChanged = true;
        modelIsAway = true;
        return true;
      }
    }
    window.remove();
    journal.add(row.line(), row.hasFailed(), item.next());
    if (!isDue(journal)) {
      return true;
    }
    boolean counts = commit(journal);
    requireNewOutput();
    return counts;
  }

  /**
   * Whether the job has to go back for an item that has failed. One that is wrong, and was found so
   * by a later model than the first, is left out on the way back here.
   */
  private boolean hasCostTheState(JobItem item, JobItem.Row row) {
    if (isStateLost()) {
      return !(row.isWrong() && beginsAnew());
    }
    boolean leavesOut = row.isWrong() && sequence != null && sequence.mayHaveChanged();
    if (leavesOut) {
      wrong.put(item.number(), row);
    }
    return leavesOut;
  }

  /** Whether the next item can begin the state, as the latest was to and could not. */
  private boolean beginsAnew() {
    return sequence != null && sequence.undoBeginning();
  }

  private boolean isStateLost() {
    return sequence != null && sequence.isBegun() && !sequence.isThere();
  }

  private boolean isDue(Journal journal) {
    if (sequence != null) {
      return journal.uncommitted() >= settings.checkpointItems();
    }
    return journal.uncommitted() >= MOST_UNCOMMITTED
        || nanoClock.getAsLong() - committedNanos >= LONGEST_UNCOMMITTED_NANOS;
  }

  /** Has the rows so far count; false when the state is lost that belongs to them. */
  private boolean commit(Journal journal) throws IOException {
    if (!journal.commit(sequence == null ? Journal.Checkpoint.NONE : sequence)) {
      return false;
    }
    committedNanos = nanoClock.getAsLong();
    fullDiskPause = settings.retryPause();
    wrong.keySet().removeIf(number -> number < journal.committed().rows());
    job.progressed(journal.committed());
    return true;
  }

  private void fail(String reason) {
    try {
      end(JobState.FAILED, reason);
    } catch (IOException | RuntimeException | Error e) {
      LOG.log(System.Logger.Level.ERROR, "the end of job " + spec.id() + " was not kept", e);
      job.ended(JobState.FAILED, reason);
    }
  }

  private void end(JobState state, String reason) throws IOException {
    hook.before(JobStep.WRITE_END);
    JobEnd end = new JobEnd(state, reason);
    if (state == JobState.DONE) {
      WholeFile.write(files.of(spec.id()).resolve(JobEnd.FILE), end.encoded());
      hook.before(JobStep.PUBLISH_OUTPUT);
      files.publishOutput(spec, job.progress());
    } else {
      files.keepEnd(spec, end);
    }
    job.ended(state, reason);
  }
}
