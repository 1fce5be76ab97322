package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The record, for all to see, of which workers run what comes, and what became of the others. Safe
 * for any thread.
 */
final class WorkerBoard {
  /** Fair: a worker of nobody's goes to the owner that has waited for it longest. */
  private final ReentrantLock lock = new ReentrantLock(true);

  private final Condition changed = lock.newCondition();
  private final Consumer<WorkerProcess> leave;
  private List<WorkerMember> members = List.of();
  private volatile Post online = Post.NOBODY;
  private Post offline = Post.NOBODY;
  private long started;
  private long lost;
  private String lastLoss = "";
  private long lastLossNanos;
  private long lastPauseNanos;
  private boolean closed;

  /** What is lost with workers that cannot be ended; for nothing once they are gone. */
  private final List<HeldBack> heldBack = new CopyOnWriteArrayList<>();

  private final int lanes;

  /**
   * The post of running one class of work; the same for both classes where they share a worker.
   *
   * @param worker null while there is none
   * @param despair why there will be none soon; empty when there is one, or may be
   */
  record Post(@Nullable WorkerProcess worker, String despair) {
    static final Post NOBODY = new Post(null, "");
  }

  /** A run that is not over, as its worker is still there, and how many lanes it costs. */
  private record HeldBack(WorkerProcess worker, int lanes) {}

  /**
   * Nobody is there yet.
   *
   * @param lanes that runs may have
   * @param leave told of an active worker that belongs to one owner when another one comes
   */
  WorkerBoard(int lanes, Consumer<WorkerProcess> leave) {
    this.lanes = lanes;
    this.leave = leave;
  }

  /**
   * Says who is there and who works now; by the supervisor's thread.
   *
   * @param over whether there will never be anybody again
   */
  void publish(List<WorkerMember> all, Post nowOnline, Post nowOffline, boolean over) {
    lock.lock();
    try {
      members = List.copyOf(all);
      online = nowOnline;
      offline = nowOffline;
      closed = over;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  void noteStart() {
    lock.lock();
    try {
      started++;
    } finally {
      lock.unlock();
    }
  }

  void noteLoss(String loss) {
    lock.lock();
    try {
      lost++;
      lastLoss = loss;
      lastLossNanos = System.nanoTime();
    } finally {
      lock.unlock();
    }
  }

  /**
   * A run is held back, with what it was lent, until its worker is gone, which cannot be ended.
   *
   * @param lanesLost that no run may have meanwhile
   */
  void holdBack(WorkerProcess worker, int lanesLost) {
    heldBack.add(new HeldBack(worker, lanesLost));
  }

  /** Why nothing is run for now, as no lane is left for it; empty where one is. */
  private String standstill() {
    if (heldBack.isEmpty()) {
      return ""; // As nearly always.
    }
    heldBack.removeIf(run -> run.worker.isGone());
    List<HeldBack> now = List.copyOf(heldBack);
    int lost = now.stream().mapToInt(HeldBack::lanes).sum();
    return lost < lanes ? "" : now.getFirst().worker.description();
  }

  void noteTakeOver(long pauseNanos) {
    lock.lock();
    try {
      lastPauseNanos = pauseNanos;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Enters the worker of a class of work, waiting for one; the caller leaves it.
   *
   * @param priority the class
   * @param owner whose run it is; the empty text for work that belongs to nobody. A worker that
   *     another owner has used is left for another one
   * @throws StatusException {@link Status#UNAVAILABLE} when there is none in time, or will not be
   */
  WorkerProcess enter(Priority priority, Duration patience, String owner) {
    long left = patience.toNanos();
    lock.lock();
    try {
      while (true) {
        Post post = post(priority);
        WorkerProcess worker = post.worker;
        String standstill = standstill();
        if (standstill.isEmpty() && worker != null && worker.enter(owner)) {
          return worker;
        }
        if (worker != null && worker.belongsToOther(owner)) {
          leave.accept(worker);
        }
        String despair = standstill.isEmpty() ? post.despair : standstill;
        if (closed || !despair.isEmpty() || left <= 0) {
          String reason = despair.isEmpty() ? lastLoss : despair;
          throw StatusException.unavailable(
              "no worker process is ready" + (reason.isEmpty() ? "" : "; " + reason));
        }
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StatusException(Status.CANCELLED, "interrupted while waiting for a worker", e);
    } finally {
      lock.unlock();
    }
  }

  /** Enters the worker of a class of work, as {@link #enter}, if it can be entered at once. */
  Optional<WorkerProcess> tryEnter(Priority priority, String owner) {
    lock.lock();
    try {
      return Optional.ofNullable(post(priority).worker)
          .filter(worker -> standstill().isEmpty() && worker.enter(owner));
    } finally {
      lock.unlock();
    }
  }

  private Post post(Priority priority) {
    return priority == Priority.OFFLINE ? offline : online;
  }

  /** Whether nobody will run online work soon; at once. */
  boolean isHopeless() {
    return !online.despair.isEmpty() || !standstill().isEmpty();
  }

  /** The worker that runs online work, if there is one now. */
  Optional<WorkerProcess> active() {
    lock.lock();
    try {
      return Optional.ofNullable(online.worker);
    } finally {
      lock.unlock();
    }
  }

  /** The worker that runs offline work and nothing else, if there is one now. */
  Optional<WorkerProcess> offlineAlone() {
    lock.lock();
    try {
      return Optional.ofNullable(offline.worker).filter(worker -> worker != online.worker);
    } finally {
      lock.unlock();
    }
  }

  /** The workers that are there, on their way out or not. */
  List<WorkerProcess> workers() {
    lock.lock();
    try {
      return members.stream().map(member -> member.worker).toList();
    } finally {
      lock.unlock();
    }
  }

  /** The workers that may take over. */
  List<WorkerProcess> standbys() {
    lock.lock();
    try {
      return members.stream()
          .filter(member -> member.stays() && member.is(WorkerState.STANDBY))
          .map(member -> member.worker)
          .toList();
    } finally {
      lock.unlock();
    }
  }

  /** Whether a worker has been lost, so long ago at most. */
  boolean hasLostWithin(Duration time) {
    lock.lock();
    try {
      return lost > 0 && System.nanoTime() - lastLossNanos < time.toNanos();
    } finally {
      lock.unlock();
    }
  }

  String lastLoss() {
    lock.lock();
    try {
      return lastLoss;
    } finally {
      lock.unlock();
    }
  }

  WorkersOverview overview() {
    WorkersOverview overview;
    List<WorkerMember> present;
    lock.lock();
    try {
      present = members;
      overview = new WorkersOverview(List.of(), started, lost, lastLoss, lastPauseNanos);
    } finally {
      lock.unlock();
    }
    return overview.with(present.stream().map(WorkerMember::overview).toList());
  }
}
