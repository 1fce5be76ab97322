package io.pipelane.server.jobs;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.server.placement.PlacedJob;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * The work on a job from where it is to its end, or to where it has to be left. Belongs to a
 * thread.
 */
final class JobRun {
  /*
   * A pass over the items follows another as after a restart, from what counts:
   *
   * - A job that is to move to another device goes on there. Its state, if there is one, begins anew
   *   from its checkpoint. So does a job whose model is out of service, which leaves its thread and
   *   its device meanwhile. One whose model has another content by then ends, as its rows could not
   *   be told apart, and no content may take another's state.
   * - A job whose state is lost goes back to its last checkpoint.
   * - So it does when the disk is full, again and again, after longer and longer pauses, in which it
   *   holds no room but for what counts, unless what counts could not be made sure of. To write the
   *   same row once more would do for a write, but not for a flush that has failed: what it was to
   *   bring to disk may be lost though the next one succeeds.
   */
  private static final System.Logger LOG = System.getLogger(JobRun.class.getName());

  private static final String STATE_IS_LOST =
      "its state was lost, or changed by half an item; it goes on from its last checkpoint";

  /** Each attempt costs the items since the last commit. */
  private static final Duration LONGEST_FULL_DISK_PAUSE = Duration.ofMinutes(1);

  /** Until a job asks again whether the device is free that it comes to. */
  private static final Duration SETTLING_PAUSE = Duration.ofMillis(10);

  private final Job job;
  private final Optional<PlacedJob> place;
  private final JobSpec spec;
  private final JobModel model;
  private final JobFiles files;
  private final JobParts parts;
  private final JobsSettings settings;
  private final JobStep.Hook hook;
  private final LongSupplier nanoClock;

  /** Items behind the last checkpoint that are wrong, of a job with several models' state. */
  private final Map<Long, JobItem.Row> wrong = new HashMap<>();

  /** What it waits for since it has found no room, until rows count again; empty otherwise. */
  private String fullDisk = "";

  private boolean hasToldOfFullDisk;

  private Duration fullDiskPause;

  JobRun(Job job, JobFiles files, JobParts parts, JobStep.Hook hook, LongSupplier nanoClock) {
    this.job = job;
    this.place = job.place();
    this.spec = job.spec();
    this.model = new JobModel(parts.catalog(), spec);
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
      JobPass.End last = lastPass();
      if (last == JobPass.End.COMPLETE) {
        return false;
      }
      if (job.isCancelled()) {
        end(JobState.CANCELLED, "");
      } else if (last == JobPass.End.OTHER_CONTENT) {
        throw model.contentHasChanged();
      } else if (last == JobPass.End.MODEL_AWAY) {
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

  /** Goes over the items until there is no point in going over them again; how that ended. */
  private JobPass.End lastPass() throws IOException {
    while (isSettled()) {
      try {
        Path input = files.input(spec);
        requireNewOutput();
        JobPass.End end = pass(input);
        switch (end) {
          case COMPLETE -> {
            complete();
            return end;
          }
          case LEFT, MODEL_AWAY, OTHER_CONTENT -> {
            return end;
          }
          case MOVES -> {}
          case STATE_LOST -> rest(STATE_IS_LOST, settings.retryPause()); // It may not be over yet.
        }
      } catch (IOException e) {
        if (!FullDisk.isBehind(e)) {
          throw e;
        }
        awaitRoom(e);
      }
    }
    return JobPass.End.LEFT;
  }

  private void awaitRoom(IOException cause) {
    fullDisk = trouble(cause, "the job goes on by itself within a minute");
    if (!hasToldOfFullDisk) {
      hasToldOfFullDisk = true;
      LOG.log(System.Logger.Level.WARNING, "job {0} waits for room: {1}", spec.id(), fullDisk);
    }
    rest(fullDisk, fullDiskPause);
    Duration next = fullDiskPause.multipliedBy(2);
    fullDiskPause = next.compareTo(LONGEST_FULL_DISK_PAUSE) < 0 ? next : LONGEST_FULL_DISK_PAUSE;
  }

  /** Two jobs might wait for what the other one holds. */
  private void giveRoomBack(Journal journal) {
    try {
      journal.giveRoomBack();
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "job " + spec.id() + " keeps rows that do not count", e);
    }
  }

  private Journal journal() throws IOException {
    return new Journal(
        files.partial(spec),
        files.of(spec.id()).resolve(JobRecords.PROGRESS),
        job.progress(),
        hook);
  }

  private void rest(String waitsFor, Duration time) {
    job.running(JobState.QUEUED, waitsFor);
    job.rest(time);
  }

  private JobPass.End pass(Path input) throws IOException {
    long committed = job.progress().number();
    try (Journal journal = journal()) {
      return pass(input, journal);
    } finally {
      if (job.progress().number() > committed) {
        fullDisk = "";
        fullDiskPause = settings.retryPause();
      }
    }
  }

  private JobPass.End pass(Path input, Journal journal) throws IOException {
    journal.goOn();
    try (ItemFile items =
            new ItemFile(
                input,
                spec.inputBytes(),
                journal.committed().inputBytes(),
                settings.maxItemBytes(),
                spec.repeat());
        JobPass pass =
            new JobPass(job, journal, items, wrong, fullDisk, files, parts, hook, nanoClock)) {
      return pass.run();
    } catch (IOException e) {
      if (FullDisk.isBehind(e)) {
        giveRoomBack(journal);
      }
      throw e;
    }
  }

  /** Has the job be done, all of whose rows count. */
  private void complete() throws IOException {
    Path _ = files.input(spec); // It is as it was.
    if (model.hasOtherContent()) {
      throw model.contentHasChanged();
    }
    requireNewOutput();
    files.requireRows(spec, job.progress());
    end(JobState.DONE, "");
  }

  private String trouble(IOException cause, String retry) {
    return "its rows, %s, or its files in .jobs/%s: %s"
        .formatted(rowsName(), spec.id(), files.trouble(cause, retry));
  }

  /** The name of the file with its rows, in the folder of its output. */
  private String rowsName() {
    return String.valueOf(files.partial(spec).getFileName());
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

  /** Whoever takes the output's name meanwhile has the job end, as its rows could not have it. */
  private void requireNewOutput() throws IOException {
    Path _ = files.newOutput(spec.outputFile());
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
      files.publishOutput(spec, job.progress(), hook);
    } else {
      files.keepEnd(spec, end);
    }
    job.ended(state, reason);
  }
}
