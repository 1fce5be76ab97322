package io.pipelane.server.jobs;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.lanes.cpu.ThreadPriority;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.access.Caller;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.metrics.JobCounts;
import io.pipelane.server.placement.JobPlacement;
import io.pipelane.server.state.ServerState.OfflineJob;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The service that runs jobs: inference over the items of a file, one after another into a file of
 * rows. They wait for one another, online ones before offline ones and else as {@link JobOrder}
 * says, and go on where they were after a restart.
 *
 * <p>Safe for any thread; {@link #submit} and {@link #remove} write files, and belong off the event
 * loops.
 */
public final class Jobs implements AutoCloseable {
  /*
   * The lock guards the table; files of a job are written by the thread that submits it until it is
   * in the line, then by the thread that runs it, and by the one that removes it once it has ended.
   * No lock is taken under this one but a job's.
   */
  private static final System.Logger LOG = System.getLogger(Jobs.class.getName());

  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, Job> jobs = new LinkedHashMap<>();
  private final JobLine line;
  private final JobRecords records;
  private final JobFiles files;
  private final JobParts parts;
  private final JobsSettings settings;
  private final JobStep.Hook hook;
  private final List<Thread> threads;
  private boolean closed;

  private Jobs(JobFiles files, JobParts parts, Optional<JobPlacement> placement, JobStep.Hook hook)
      throws IOException {
    this.files = files;
    this.parts = parts;
    this.settings = parts.settings();
    this.hook = hook;
    this.line =
        new JobLine(
            placement,
            spec -> new JobModel(parts.catalog(), spec).away(),
            spec -> new JobModel(parts.catalog(), spec).want(),
            settings.retryPause(),
            new JobOrder(
                settings.ageing(), JobOrder.itemNanos(parts.statistics()), System::nanoTime));
    this.records = new JobRecords(files, parts.random(), parts.clock(), hook);
    recover();
    List<Thread> started = new ArrayList<>();
    for (int i = 0; i < settings.concurrency(); i++) {
      started.add(thread("job-" + i, List.of(Priority.ONLINE, Priority.OFFLINE)));
    }
    started.add(thread("job-online", List.of(Priority.ONLINE))); // Offline jobs may take for days.
    threads = List.copyOf(started);
    placement.ifPresent(devices -> devices.onChange(line::devicesChanged));
    threads.forEach(Thread::start);
  }

  /**
   * Opens the jobs' folder, and goes on with the jobs that are there.
   *
   * @param placement gives each offline job a device; without it their requests go anywhere
   * @throws StatusException {@link Status#UNAVAILABLE} when another server has the folder
   */
  public static Jobs open(JobParts parts, Optional<JobPlacement> placement) throws IOException {
    return open(parts, placement, JobStep.Hook.NONE);
  }

  static Jobs open(JobParts parts, Optional<JobPlacement> placement, JobStep.Hook hook)
      throws IOException {
    JobFiles files = JobFiles.open(parts.settings().folder());
    boolean opened = false;
    try {
      Jobs jobs = new Jobs(files, parts, placement, hook);
      opened = true;
      return jobs;
    } finally {
      if (!opened) {
        files.close();
      }
    }
  }

  private void recover() throws IOException {
    for (Job job : records.recovered()) {
      jobs.put(job.spec().id(), job);
      if (!job.state().isEnd()) {
        line.add(job);
      }
    }
  }

  /**
   * Takes a job on; it is there after a crash as soon as this returns.
   *
   * @param request one JSON object
   * @throws StatusException when the request cannot be a job, its model is not in service, or the
   *     caller may not ask in its class
   */
  public JobStatus submit(byte[] request, Caller caller) {
    JobRequest wanted = JobRequest.read(request);
    caller.check(wanted.priority());
    ServedModel model =
        parts.catalog().resolveForRequest(wanted.model(), wanted.version(), wanted.priority());
    try {
      return submit(wanted, model);
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "the job cannot be kept: " + files.trouble(e, "submit it again"), e);
    }
  }

  private JobStatus submit(JobRequest wanted, ServedModel model) throws IOException {
    Job job = records.asked(wanted, model);
    reserve(job);
    boolean kept = false;
    try {
      records.keep(job, wanted);
      kept = true;
    } finally {
      if (kept) {
        line.add(job);
      } else {
        drop(job);
      }
    }
    return job.status();
  }

  /** Takes a job out of the table. */
  private void drop(Job job) {
    lock.lock();
    try {
      jobs.remove(job.spec().id());
    } finally {
      lock.unlock();
    }
  }

  /** Puts a job into the table, where it keeps others from its output. */
  private void reserve(Job job) {
    lock.lock();
    try {
      if (closed) {
        throw StatusException.shuttingDown();
      }
      if (jobs.size() >= settings.maxJobs()) {
        throw new StatusException(
            Status.UNAVAILABLE,
            "there are %d jobs, which is the limit (jobs.max-jobs); delete some that have ended"
                .formatted(jobs.size()));
      }
      String output = job.spec().outputFile();
      for (Job other : jobs.values()) {
        if (other.spec().outputFile().equals(output) && !other.state().isEnd()) {
          throw new StatusException(
              Status.INVALID_ARGUMENT,
              "output_file \"%s\" is that of job %s".formatted(output, other.spec().id()));
        }
      }
      jobs.put(job.spec().id(), job);
    } finally {
      lock.unlock();
    }
  }

  /** All jobs, in the order in which they came. */
  public List<JobStatus> list() {
    line.tellReasons();
    lock.lock();
    try {
      return jobs.values().stream().map(Job::status).toList();
    } finally {
      lock.unlock();
    }
  }

  /**
   * One job.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when there is none of that name
   */
  public JobStatus show(String id) {
    line.tellReasons();
    return find(id).status();
  }

  private Job find(String id) {
    lock.lock();
    try {
      @Nullable Job job = jobs.get(id);
      if (job == null) {
        throw new StatusException(
            Status.NOT_FOUND, "there is no job \"" + JobJson.shorten(id) + "\"");
      }
      return job;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Cancels a job, or forgets one that has ended; its output stays.
   *
   * @return the job as it is then
   * @throws StatusException {@link Status#NOT_FOUND} when there is none of that name, {@link
   *     Status#UNAVAILABLE} when its files cannot be changed: it is still there
   */
  public JobStatus remove(String id) {
    Job job = find(id);
    if (job.state().isEnd()) {
      forget(job);
    } else {
      cancel(job);
    }
    return job.status();
  }

  private void forget(Job job) {
    if (!job.leaves()) {
      return; // Another thread has it leave.
    }
    boolean isGone = false;
    try {
      files.forget(job.spec(), hook);
      isGone = true;
    } catch (IOException e) {
      throw notRemoved(job, "is still there, with its files in .jobs/" + job.spec().id(), e);
    } finally {
      if (!isGone) {
        job.stays();
      }
    }
    drop(job);
  }

  private void cancel(Job job) {
    job.cancel();
    if (line.remove(job)) {
      try {
        records.cancelled(job);
      } catch (IOException e) {
        throw notRemoved(job, "is cancelled, but goes on after a restart", e);
      }
    }
  }

  private StatusException notRemoved(Job job, String what, IOException cause) {
    return new StatusException(
        Status.UNAVAILABLE,
        "job %s %s: %s".formatted(job.spec().id(), what, files.trouble(cause, "delete it again")),
        cause);
  }

  /** The jobs that have a device of their own. */
  public List<OfflineJob> placed() {
    return list().stream().flatMap(job -> job.placed().stream()).toList();
  }

  /** How many there are, ended ones included. */
  public int count() {
    lock.lock();
    try {
      return jobs.size();
    } finally {
      lock.unlock();
    }
  }

  /** How many jobs are in each state, and items they have done. */
  public JobCounts counts() {
    Map<String, Integer> states = new HashMap<>();
    for (JobState state : JobState.values()) {
      states.put(name(state), 0);
    }
    long rows = 0;
    long failed = 0;
    for (JobStatus job : list()) {
      states.merge(name(job.state()), 1, Integer::sum);
      rows += job.rows();
      failed += job.failed();
    }
    return new JobCounts(states, rows, failed);
  }

  private static String name(JobState state) {
    return state.name().toLowerCase(Locale.ROOT);
  }

  private Thread thread(String name, List<Priority> classes) {
    return Thread.ofPlatform().name(name).daemon().unstarted(() -> work(classes));
  }

  private void work(List<Priority> classes) {
    if (settings.nice() > 0 && !ThreadPriority.yieldToOthers(settings.nice())) {
      LOG.log(
          System.Logger.Level.WARNING,
          "the system does not make jobs'' threads less urgent (sharing.offline-nice is {0})",
          settings.nice());
    }
    if (!settings.processors().map(ThreadPriority::keepTo).orElse(true)) {
      LOG.log(
          System.Logger.Level.WARNING,
          "the process may use none of the processors {0} (sharing.offline-processors)",
          settings.processors().get());
    }
    @Nullable Job next = line.next(classes);
    while (next != null) {
      boolean waits = false;
      try {
        waits = new JobRun(next, files, parts, hook, System::nanoTime).run();
      } finally {
        next.leavePlace();
        if (waits) {
          line.awaitModel(next);
        }
        line.devicesChanged();
      }
      next = line.next(classes);
    }
  }

  /**
   * Takes no more jobs, and has every job be left where it is, with all its rows on disk, once the
   * items have ended that run; returns at once. Jobs go on when the folder is opened again.
   */
  public void beginStop() {
    lock.lock();
    try {
      closed = true;
      jobs.values().forEach(Job::pause);
    } finally {
      lock.unlock();
    }
    line.close();
  }

  /**
   * The same, and waits.
   *
   * @param timeout for the items that run
   * @return whether all jobs have been left
   */
  public boolean stop(Duration timeout) {
    beginStop();
    long deadline = System.nanoTime() + timeout.toNanos();
    boolean left = true;
    for (Thread thread : threads) {
      try {
        left &= thread.join(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
    return left;
  }

  /** Stops, however long items run, and lets another server have the folder. */
  @Override
  public void close() {
    beginStop();
    threads.forEach(ThreadEnd::await);
    try {
      files.close();
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "the jobs' folder was not closed", e);
    }
  }
}
