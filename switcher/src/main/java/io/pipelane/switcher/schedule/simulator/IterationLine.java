package io.pipelane.switcher.schedule.simulator;

import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.JobWork;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The iterations of whole jobs in the order of one of the server's policies, without a device. An
 * iteration is a request, an item of its job. All iterations of a job are in line from its
 * beginning: so {@code fifo} and {@code pack} run a job to its end, and {@code fair} changes
 * between jobs. Belongs to one thread, and one iteration runs at a time.
 */
public final class IterationLine {
  private final Map<ModelVersion, Waiting> jobs = new HashMap<>();
  private final Estimates estimates = new Estimates(_ -> 0);
  private final SchedulingPolicy policy;
  private final RequestQueue queue;
  private @Nullable QueuedRequest running;

  private static final class Waiting {
    final JobWork work;
    long iterations;

    Waiting(JobWork work, long iterations) {
      this.work = work;
      this.iterations = iterations;
    }
  }

  /** An empty line. */
  public IterationLine(SchedulingConfig config) {
    Room room = new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE);
    this.policy = SchedulingPolicies.of(config, estimates, room);
    this.queue = new RequestQueue(policy, estimates, 1, Integer.MAX_VALUE, Long.MAX_VALUE, () -> 0);
  }

  /**
   * Puts a job's iterations in line.
   *
   * @param job not in line yet
   * @param iterationNanos what each is known to take
   */
  public void add(String job, long iterationNanos, long iterations, long nowNanos) {
    JobWork work = new JobWork(nowNanos);
    work.left(iterations);
    InferenceRequest request =
        new InferenceRequest(new ModelVersion(job, 1), List.of(), List.of()).of(work);
    jobs.put(request.model(), new Waiting(work, iterations));
    for (long i = 0; i < iterations; i++) {
      QueuedRequest queued = new QueuedRequest(queue, request, Unanswered.INSTANCE, nowNanos);
      if (i == 0) {
        estimates.learn(queued.key(), iterationNanos);
        work.ran(iterationNanos);
      }
      policy.add(queued);
    }
  }

  /** Takes the iteration that runs next; its job, or null when no iteration waits. */
  public @Nullable String next(long nowNanos) {
    @Nullable QueuedRequest next = policy.poll(nowNanos);
    running = next;
    if (next == null) {
      return null;
    }
    ModelVersion model = next.request().model();
    @Nullable Waiting job = jobs.get(model);
    if (job != null) {
      job.work.left(--job.iterations);
      if (job.iterations == 0) {
        jobs.remove(model);
      }
    }
    return model.model();
  }

  /** The iteration that was taken last has ended. */
  public void ended(long nowNanos) {
    if (running != null) {
      policy.ended(running, nowNanos);
      running = null;
    }
  }
}
