package io.pipelane.switcher.schedule.policy;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.schedule.queue.WorkAhead;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The policy by which online requests run before offline ones, each class in the order of a policy
 * of its own. Offline ones take what is left over, and a share of the device's time where too
 * little is left.
 */
final class PriorityClasses implements SchedulingPolicy {
  /*
   * Offline requests do not starve, if their share is above 0. While one waits, each online run
   * earns credit of its time * share / (1 - share). Once the credit is what the next offline
   * request needs, that request runs. So the next one, of remaining time R, begins after online
   * runs of R * (1 - share) / share and one more. Those behind it in their class follow one after
   * another. One that begins because nothing online waits pays with what credit there is. There is
   * never more credit than those need that wait, so nobody runs on what others have earned and not
   * used. An offline run that has given way at a gate goes on, and gives way no more, on the same
   * terms.
   *
   * Where the policy has requests wait for room, an offline request with credit that does not fit
   * lets MOST_PASSES online ones by, and then nothing until it fits.
   */
  private static final long LEAST_CHARGE_NANOS = 1_000;

  private static final int MOST_PASSES = 64;

  /** How many offline requests are looked at to find one that is suitable. */
  private static final int LOOKED_AT = 64;

  private final SchedulingPolicy online;
  private final SchedulingPolicy offline;
  private final Estimates estimates;
  private final double earned;
  private final OfflineGate gate;
  private final Set<QueuedRequest> offlineWaiting = new HashSet<>();
  private final Set<QueuedRequest> offlineRefused = new HashSet<>(); // By takeAgain, until it goes.
  private @Nullable QueuedRequest onCredit;
  private boolean heldUp;
  private long heldNeedsNanos; // Of the run that needs most of those that are held up.
  private double creditNanos;
  private boolean someHaveGone; // Since the credit was looked at.
  private int passes;

  /**
   * Empty lines.
   *
   * @param offlineShare of the device's time that offline requests have at least while they wait,
   *     below 1
   * @param gate says whether the device takes offline requests
   */
  PriorityClasses(
      SchedulingPolicy online,
      SchedulingPolicy offline,
      Estimates estimates,
      double offlineShare,
      OfflineGate gate) {
    this.online = online;
    this.offline = offline;
    this.estimates = estimates;
    this.earned = offlineShare / (1 - offlineShare);
    this.gate = gate;
  }

  @Override
  public void add(QueuedRequest request) {
    if (request.request().priority() == Priority.OFFLINE) {
      letGo();
      offlineWaiting.add(request);
    }
    classOf(request).add(request);
  }

  private SchedulingPolicy classOf(QueuedRequest request) {
    return switch (request.request().priority()) {
      case ONLINE -> online;
      case OFFLINE -> offline;
    };
  }

  @Override
  public @Nullable QueuedRequest poll(long nowNanos) {
    if (offlineWaiting.isEmpty()) {
      @Nullable QueuedRequest next = online.poll(nowNanos);
      if (next == null) {
        heldNeedsNanos = 0;
      } else if (!offlineRefused.isEmpty()) {
        earn(next);
      }
      return next;
    }
    boolean hasCredit = hasCredit(offline.first(1, nowNanos).getFirst());
    if (hasCredit) {
      @Nullable QueuedRequest next = pollOffline(nowNanos, true);
      if (next != null || passes >= MOST_PASSES) {
        return next;
      }
    }
    @Nullable QueuedRequest next = online.poll(nowNanos);
    if (next != null) {
      passes += hasCredit ? 1 : 0;
      earn(next);
      return next;
    }
    boolean onlineWaits = !online.first(1, nowNanos).isEmpty();
    heldNeedsNanos = onlineWaits ? heldNeedsNanos : 0;
    return onlineWaits || !gate.mayBegin() ? null : pollOffline(nowNanos, false);
  }

  private boolean hasCredit(QueuedRequest offlineRequest) {
    letGo();
    return earned > 0 && creditNanos >= charge(offlineRequest) && gate.mayBeginOnCredit();
  }

  @Override
  public boolean takeAgain(QueuedRequest request, long nowNanos) {
    if (request.request().priority() == Priority.ONLINE) {
      return true;
    }
    boolean goes = mayGoAgain(request, nowNanos);
    if (goes) {
      offlineRefused.remove(request);
    } else {
      offlineRefused.add(request);
    }
    return goes;
  }

  /** Only where there are no others: what has come back from there is to run in them. */
  @Override
  public boolean takeAgainForShare(QueuedRequest request) {
    boolean goes = request.request().priority() == Priority.OFFLINE && gate.share().isOnlyWay();
    if (goes) {
      offlineRefused.remove(request);
    }
    return goes;
  }

  private boolean mayGoAgain(QueuedRequest request, long nowNanos) {
    if (hasCredit(request)) {
      pay(charge(request));
      onCredit = request;
      return true;
    }
    boolean goes = online.first(1, nowNanos).isEmpty() && gate.mayBegin();
    if (goes) {
      pay(charge(request));
    }
    return goes;
  }

  private @Nullable QueuedRequest pollOffline(long nowNanos, boolean isOnCredit) {
    @Nullable QueuedRequest next = offline.poll(nowNanos);
    if (next != null) {
      passes = 0;
      offlineWaiting.remove(next);
      pay(charge(next));
      if (isOnCredit) {
        onCredit = next;
      }
    }
    return next;
  }

  @Override
  public @Nullable QueuedRequest pollOffline(Predicate<QueuedRequest> suitable, long nowNanos) {
    if (offlineWaiting.isEmpty()) {
      return null;
    }
    @Nullable QueuedRequest next =
        offline.first(LOOKED_AT, nowNanos).stream().filter(suitable).findFirst().orElse(null);
    if (next != null) {
      offlineWaiting.remove(next);
      offline.take(next, nowNanos);
    }
    return next;
  }

  private void earn(QueuedRequest onlineRun) {
    creditNanos += earned * charge(onlineRun);
  }

  private void pay(long nanos) {
    creditNanos = Math.max(0, creditNanos - nanos);
  }

  @Override
  public @Nullable QueuedRequest interrupting(
      QueuedRequest run, long remainingNanos, long nowNanos) {
    if (run.request().priority() == Priority.ONLINE) {
      return online.interrupting(run, remainingNanos, nowNanos);
    }
    if (run != onCredit) {
      List<QueuedRequest> first = online.first(1, nowNanos);
      long needs = Math.max(LEAST_CHARGE_NANOS, remainingNanos);
      letGo();
      if (!first.isEmpty() && (earned == 0 || creditNanos < needs)) {
        heldUp = true;
        heldNeedsNanos = Math.max(heldNeedsNanos, needs);
        return first.getFirst();
      }
      heldNeedsNanos = 0;
      if (!first.isEmpty()) {
        pay(remainingNanos);
        onCredit = run;
      }
    }
    return gate.mayBegin() ? offline.interrupting(run, remainingNanos, nowNanos) : null;
  }

  @Override
  public boolean goesBeforeRun(
      QueuedRequest waiting,
      long waitingNanos,
      QueuedRequest run,
      long remainingNanos,
      long nowNanos) {
    if (waiting.request().priority() == Priority.OFFLINE) {
      return false;
    }
    if (run.request().priority() == Priority.ONLINE) {
      return online.goesBeforeRun(waiting, waitingNanos, run, remainingNanos, nowNanos);
    }
    letGo();
    long needs = Math.max(LEAST_CHARGE_NANOS, remainingNanos);
    return run != onCredit && (earned == 0 || creditNanos < needs);
  }

  @Override
  public boolean makesWay(
      QueuedRequest run, long remainingNanos, long hadNanos, QueuedRequest first, long nowNanos) {
    return online.makesWay(run, remainingNanos, hadNanos, first, nowNanos);
  }

  @Override
  public void take(QueuedRequest request, long nowNanos) {
    offlineWaiting.remove(request);
    boolean offlineWaits = heldUp || !offlineWaiting.isEmpty() || !offlineRefused.isEmpty();
    if (request.request().priority() == Priority.ONLINE && offlineWaits) {
      earn(request);
    }
    heldUp = false;
    classOf(request).take(request, nowNanos);
  }

  private long charge(QueuedRequest request) {
    return Math.max(LEAST_CHARGE_NANOS, estimates.remainingNanos(request.key()));
  }

  @Override
  public void remove(QueuedRequest request) {
    offlineWaiting.remove(request);
    offlineRefused.remove(request);
    classOf(request).remove(request);
    someHaveGone |= request.request().priority() == Priority.OFFLINE;
  }

  /** Lets the credit go that those have earned who went. */
  private void letGo() {
    if (someHaveGone) {
      someHaveGone = false;
      creditNanos = Math.min(creditNanos, needed(creditNanos));
    }
  }

  /** What the offline requests need that wait or are held up, up to so much. */
  private double needed(double mostNanos) {
    double needed = heldNeedsNanos;
    for (Set<QueuedRequest> waiting : List.of(offlineWaiting, offlineRefused)) {
      for (QueuedRequest request : waiting) {
        if (needed >= mostNanos) {
          return needed;
        }
        needed += charge(request);
      }
    }
    return needed;
  }

  @Override
  public List<QueuedRequest> first(int count, long nowNanos) {
    List<QueuedRequest> first = online.first(count, nowNanos);
    return first.size() == count || offlineWaiting.isEmpty()
        ? first
        : Stream.concat(first.stream(), offline.first(count - first.size(), nowNanos).stream())
            .toList();
  }

  /** An offline request may go before others on credit, or in the share. */
  @Override
  public WorkAhead ahead(QueuedRequest request, long nowNanos) {
    return switch (request.request().priority()) {
      case ONLINE -> online.ahead(request, nowNanos);
      case OFFLINE -> WorkAhead.NONE;
    };
  }

  @Override
  public boolean interrupts() {
    return online.interrupts();
  }

  @Override
  public List<QueuedRequest> alike(QueuedRequest request, int count) {
    return classOf(request).alike(request, count);
  }

  @Override
  public boolean heedsEnds() {
    return online.heedsEnds();
  }

  @Override
  public void ended(QueuedRequest request, long nowNanos) {
    classOf(request).ended(request, nowNanos);
  }
}
