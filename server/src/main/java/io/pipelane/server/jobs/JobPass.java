package io.pipelane.server.jobs;

import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.placement.PlacedJob;
import io.pipelane.switcher.NeverFits;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One pass over the items of a job, from where its rows count to its end, or to where it cannot go
 * on as it is. Belongs to the job's thread.
 */
final class JobPass implements AutoCloseable {
  /*
   * Items are asked for some at a time and end in any order; their rows are written in the items'
   * order. Rows count from a commit on. A commit comes after so many rows or so much time, whenever
   * nothing is to be waited for before the next row, and at the end.
   *
   * A job that is to be left withdraws the items that have not begun to run: offline ones may wait
   * for as long as there is online work. Those that run end, and have their rows as far as no item
   * before them is without one. A job that is to move, or whose model is out of service, lets the
   * items under way end, and has all rows count.
   *
   * The items of a model that keeps state are asked for one by one, and their rows count together
   * with a checkpoint of the state. The pass ends where the state is lost (its model was unloaded
   * meanwhile, for instance), and where an item fails halfway through an ensemble, where some of
   * its models have made their steps, for a reason that may pass.
   */
  private static final int MOST_UNCOMMITTED = 256;
  private static final long LONGEST_UNCOMMITTED_NANOS = Duration.ofSeconds(1).toNanos();

  private final Job job;
  private final Optional<PlacedJob> place;
  private final JobSpec spec;
  private final JobModel model;
  private final JobFiles files;
  private final JobParts parts;
  private final JobsSettings settings;
  private final JobStep.Hook hook;
  private final LongSupplier nanoClock;
  private final Map<Long, JobItem.Row> wrong;
  private final String trouble;
  private final Journal journal;
  private final Progress begin;
  private final ItemFile items;
  private final Deque<JobItem> window = new ArrayDeque<>();
  private long nextNumber;
  private long committedNanos;

  /** Why nothing more is asked for; null as long as something may be. */
  private @Nullable End outOfService;

  /** There once the model is known to keep state. */
  private @Nullable JobSequence sequence;

  /** The way in which a pass ended. */
  enum End {
    /** All items have rows that count. */
    COMPLETE,
    /** The job has to be left. */
    LEFT,
    /** The job is to move to another device. */
    MOVES,
    MODEL_AWAY,
    OTHER_CONTENT,
    /** What the rows beyond the last checkpoint have led to is not there any more. */
    STATE_LOST
  }

  /**
   * Nothing is asked for yet.
   *
   * @param journal of the rows so far
   * @param items from the first one without a row that counts
   * @param wrong items behind the last checkpoint that are wrong, of a job with several models'
   *     state: as earlier passes have found, and as this one does
   * @param trouble what the job is said to have until rows count that it writes; empty for nothing
   */
  JobPass(
      Job job,
      Journal journal,
      ItemFile items,
      Map<Long, JobItem.Row> wrong,
      String trouble,
      JobFiles files,
      JobParts parts,
      JobStep.Hook hook,
      LongSupplier nanoClock) {
    this.job = job;
    this.place = job.place();
    this.spec = job.spec();
    this.model = new JobModel(parts.catalog(), spec);
    this.files = files;
    this.parts = parts;
    this.settings = parts.settings();
    this.hook = hook;
    this.nanoClock = nanoClock;
    this.wrong = wrong;
    this.trouble = trouble;
    this.journal = journal;
    this.items = items;
    this.begin = journal.committed();
    this.nextNumber = begin.rows();
    this.committedNanos = nanoClock.getAsLong();
  }

  /** Goes over the items; once. */
  End run() throws IOException {
    while (!job.isStopped()) {
      boolean moves = mustMove();
      if (!moves && outOfService == null) {
        fill();
      }
      @Nullable JobItem first = window.peek();
      boolean asksNoMore = moves || outOfService != null;
      if (first == null || (asksNoMore && !first.isStarted())) {
        End end = moves ? End.MOVES : outOfService != null ? outOfService : End.COMPLETE;
        return commit() ? end : End.STATE_LOST;
      }
      if (first.isStarted() && !finish(first)) {
        return End.STATE_LOST;
      }
    }
    @Nullable JobItem running = window.peek();
    while (running != null && running.isStarted() && !job.isCancelled()) {
      if (!finish(running)) {
        return End.STATE_LOST;
      }
      running = window.peek();
    }
    if (sequence == null || window.stream().noneMatch(JobItem::isStarted)) {
      boolean _ = commit(); // Rows whose state is lost are asked for again.
    }
    return End.LEFT;
  }

  private boolean mustMove() {
    return place.map(PlacedJob::mustMove).orElse(false);
  }

  private void fill() throws IOException {
    for (JobItem left : window) { // It came, or was to come again, while the job was to move.
      if (!isAskedFor(left)) {
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
      if (!isAskedFor(window.getLast())) {
        return;
      }
    }
  }

  /** Whether an item has been asked for, now at the latest. */
  private boolean isAskedFor(JobItem item) throws IOException {
    if (!item.isStarted()) {
      start(item);
    }
    return item.isStarted();
  }

  /** Asks for an item, unless its model is away, or the job has to be left or to move. */
  private void start(JobItem item) throws IOException {
    Optional<ServedModel> served = served();
    if (served.isEmpty()) {
      return;
    }
    if (sequence == null && served.get().keepsState()) {
      sequence =
          new JobSequence(
              parts.service(),
              spec.model(),
              served.get().options().state().isEmpty(), // It is its models' then.
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
    boolean isTaken = item.start(served.get(), parts, spec.priority(), job.work(), step, place);
    if (isTaken && sequence != null) {
      sequence.begun();
    }
  }

  /**
   * The model; empty where it is not in service as it was, or the job has to be left or to move.
   */
  private Optional<ServedModel> served() {
    if (job.isStopped() || mustMove()) {
      return Optional.empty();
    }
    try {
      ServedModel served = model.served();
      if (!spec.mayBeOf(served.content())) {
        outOfService = End.OTHER_CONTENT;
        return Optional.empty();
      }
      boolean hasWritten = journal.committed().number() > begin.number();
      job.running(JobState.RUNNING, hasWritten ? "" : trouble);
      return Optional.of(served);
    } catch (StatusException e) {
      job.running(JobState.QUEUED, String.valueOf(e.getMessage()));
      outOfService = End.MODEL_AWAY;
      return Optional.empty();
    }
  }

  /**
   * Writes the row of the oldest item, or has it asked for again; false when the state is lost that
   * the items before have led to.
   */
  private boolean finish(JobItem item) throws IOException {
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
        boolean _ = commit(); // The rows of items before it count.
        throw e;
      }
      boolean isLost = isStateLost() && !beginsAnew(); // It may have had no room to begin.
      if (isLost || (sequence != null && sequence.mayHaveChanged())) {
        return false;
      }
      job.running(JobState.QUEUED, String.valueOf(e.getMessage()));
      job.rest(settings.retryPause());
      start(item);
      return true;
    }
    if (row.hasFailed() && !wrong.containsKey(item.number())) {
      if (hasCostTheState(item, row)) {
        return false;
      }
      if (model.hasOtherContent()) { // Which may have refused it.
        outOfService = End.OTHER_CONTENT;
        return true;
      }
    }
    window.remove();
    journal.add(row.line(), row.hasFailed(), item.next());
    if (!isDue()) {
      return true;
    }
    boolean counts = commit();
    Path _ = files.input(spec); // Rows of another input, or without a name, are for nobody.
    Path _ = files.newOutput(spec.outputFile());
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
    return sequence != null && sequence.isLost();
  }

  private boolean isDue() {
    if (sequence != null) {
      return journal.uncommitted() >= settings.checkpointItems();
    }
    return journal.uncommitted() >= MOST_UNCOMMITTED
        || nanoClock.getAsLong() - committedNanos >= LONGEST_UNCOMMITTED_NANOS;
  }

  /** Has the rows so far count; false when the state is lost that belongs to them. */
  private boolean commit() throws IOException {
    if (!journal.commit(sequence == null ? Journal.Checkpoint.NONE : sequence)) {
      return false;
    }
    committedNanos = nanoClock.getAsLong();
    wrong.keySet().removeIf(number -> number < journal.committed().rows());
    job.progressed(journal.committed());
    return true;
  }

  /** Cancels what is under way, and gives the state back. */
  @Override
  public void close() {
    try {
      window.forEach(JobItem::abandon);
    } finally {
      if (sequence != null) {
        sequence.end();
      }
    }
  }
}
