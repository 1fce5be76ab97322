package io.pipelane.switcher.schedule.policy;

import io.pipelane.config.section.SchedulingConfig.FairMeasure;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.schedule.queue.WorkAhead;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The policy by which jobs, and models beside them, share the device evenly: of those that wait,
 * the one runs next that has used least. Its requests run in the order in which they came. What
 * counts is the time that it was served (Salus, MLSys version, §4.3), or the memory that it held
 * over time (short paper, §3).
 */
final class FairSharing implements SchedulingPolicy {
  /*
   * Use is charged as estimated when a request is taken, and corrected when it has ended. A run that
   * stood meanwhile was not served, but held its memory.
   *
   * Time served: a model that had nothing to do does not save up. It comes back with no less than
   * the mark. The mark is what the least used model had used when the last request was taken. So
   * while a request waits at the head of its model's line, another model is served for no longer
   * than the waiting one is ahead of the mark, and one run. That is about one charge of the waiting
   * model's, and one run of the other's.
   *
   * Memory over time: whenever a job arrives all begin at nothing again, and of equals the one goes
   * first that has waited longest. So between two arrivals others are served as above, counted from
   * nothing. Each arrival brings the request that has waited longest to the front. A model counts
   * as a job that arrives when it has had nothing to do for GONE_NANOS, and so does a job.
   *
   * A request that does not fit beside those that run keeps its place. Others go ahead `mostSkips`
   * times at most, then all wait until it fits.
   */
  private static final long GONE_NANOS = 10_000_000_000L;
  private static final long LEAST_CHARGE_NANOS = 1_000;
  private static final int MOST_ACCOUNTS = 4_096;

  private static final Comparator<Job> TURNS =
      Comparator.<Job>comparingDouble(job -> job.used)
          .thenComparingLong(job -> job.line.getFirst().submittedNanos());

  private final Estimates estimates;
  private final Room room;
  private final FairMeasure measure;
  private final int mostSkips;
  private final Map<Object, Job> jobs = new LinkedHashMap<>();
  private final Map<QueuedRequest, Charge> charges = new HashMap<>();
  private double mark;
  private @Nullable QueuedRequest skipped;
  private int skips;

  /** A job that has requests, or had some, or a model by itself. */
  private static final class Job {
    final LinkedHashSet<QueuedRequest> line = new LinkedHashSet<>();
    double used;
    int running;
    long idleSinceNanos;

    boolean isIdle() {
      return running == 0 && line.isEmpty();
    }
  }

  private record Charge(Job job, double perNano, long nanos, long beganNanos) {}

  /**
   * Empty lines.
   *
   * @param mostSkips how often others may go ahead of a request that does not fit; 0 for a policy
   *     that is not work-conserving
   */
  FairSharing(Estimates estimates, Room room, FairMeasure measure, int mostSkips) {
    this.estimates = estimates;
    this.room = room;
    this.measure = measure;
    this.mostSkips = mostSkips;
  }

  @Override
  public void add(QueuedRequest request) {
    @Nullable Job known = jobs.get(request.owner());
    Job job = known == null ? new Job() : known;
    if (known == null) {
      dropAccounts();
      jobs.put(request.owner(), job);
    }
    switch (measure) {
      case SERVICE -> job.used = job.line.isEmpty() ? Math.max(job.used, mark) : job.used;
      case MEMORY -> {
        long now = request.submittedNanos();
        if (known == null || (job.isIdle() && now - job.idleSinceNanos > GONE_NANOS)) {
          jobs.values().forEach(each -> each.used = 0);
        }
      }
    }
    job.line.add(request);
  }

  private void dropAccounts() {
    if (jobs.size() >= MOST_ACCOUNTS) {
      jobs.values().removeIf(Job::isIdle);
    }
  }

  @Override
  public @Nullable QueuedRequest poll(long nowNanos) {
    @Nullable Job least = waiting().min(TURNS).orElse(null);
    if (least == null) {
      return null;
    }
    mark = Math.max(mark, least.used);
    QueuedRequest head = least.line.getFirst();
    if (room.fits(head)) {
      return take(least, nowNanos);
    }
    skips = head == skipped ? skips : 0;
    skipped = head;
    if (skips == mostSkips) {
      return null;
    }
    @Nullable Job fitting =
        waiting()
            .sorted(TURNS)
            .filter(job -> room.fits(job.line.getFirst()))
            .findFirst()
            .orElse(null);
    if (fitting == null) {
      return null;
    }
    skips++;
    return take(fitting, nowNanos);
  }

  private Stream<Job> waiting() {
    return jobs.values().stream().filter(job -> !job.line.isEmpty());
  }

  private QueuedRequest take(Job job, long nowNanos) {
    QueuedRequest next = job.line.getFirst();
    take(next, nowNanos);
    return next;
  }

  @Override
  public void take(QueuedRequest next, long nowNanos) {
    @Nullable Job job = jobs.get(next.owner());
    if (job == null || !job.line.remove(next)) {
      return;
    }
    long nanos = Math.max(LEAST_CHARGE_NANOS, estimates.remainingNanos(next.key()));
    double perNano =
        switch (measure) {
          case SERVICE -> 1;
          case MEMORY -> Math.max(1, room.bytes(next));
        };
    job.used += perNano * nanos;
    job.running++;
    charges.put(next, new Charge(job, perNano, nanos, nowNanos));
    room.take(next);
  }

  @Override
  public boolean heedsEnds() {
    return true;
  }

  @Override
  public void ended(QueuedRequest request, long nowNanos) {
    room.giveBack(request);
    @Nullable Charge charge = charges.remove(request);
    if (charge != null) {
      Job job = charge.job;
      long held = nowNanos - charge.beganNanos;
      long ran =
          switch (measure) {
            case SERVICE -> request.servedNanos().orElse(held);
            case MEMORY -> held;
          };
      job.used = Math.max(0, job.used + charge.perNano * (ran - charge.nanos));
      job.running--;
      job.idleSinceNanos = nowNanos;
    }
  }

  @Override
  public void remove(QueuedRequest request) {
    @Nullable Job job = jobs.get(request.owner());
    if (job != null) {
      job.line.remove(request);
    }
  }

  @Override
  public List<QueuedRequest> first(int count, long nowNanos) {
    return waiting().sorted(TURNS).limit(count).map(job -> job.line.getFirst()).toList();
  }

  /** Only its own job's requests, or its model's, surely run before it. */
  @Override
  public WorkAhead ahead(QueuedRequest request, long nowNanos) {
    @Nullable Job own = jobs.get(request.owner());
    long others =
        waiting()
            .filter(job -> job != own)
            .flatMap(job -> job.line.stream())
            .mapToLong(QueuedRequest::leastNanos)
            .sum();
    return new WorkAhead(own == null ? List.of() : own.line, others);
  }

  @Override
  public List<QueuedRequest> alike(QueuedRequest request, int count) {
    @Nullable Job job = jobs.get(request.owner());
    return job == null ? List.of() : request.alikeIn(job.line.stream(), count);
  }
}
