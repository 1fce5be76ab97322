package io.pipelane.switcher.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.RunControl;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The retries of what lost its worker process, once each; models that lose it twice in a row are
 * refused. Safe for any platform thread.
 */
final class Retries {
  /*
   * Of several runs that a process was lost with, any may be the reason. So a model whose run may
   * be it is a suspect from then on until a run of it has come to its end. That a session of it was
   * built, or was there, says nothing. A suspect runs alone: it holds the lock that all runs share,
   * if it can be had in time. If the process is lost then, the suspect is guilty for certain, and
   * is quarantined. A model whose run hung while others got on is known by name, and keeps nobody
   * else waiting. A run that was lost for another's sake makes no suspect, and does not count. The
   * same may befall it a few times more, as others are not stopped at once.
   *
   * What is built for a model that nothing runs of yet takes the same lock, and makes no suspect.
   *
   * Where offline work has a process of its own, its runs share a lock of their own. A model may be
   * a suspect among them and none among online runs: neither class waits for the other's suspects.
   * What is quarantined is refused to both.
   *
   * Who has the lock may be paused for one that wants it. So whoever waits for the lock leaves its
   * turn to others meanwhile, and takes a turn again once it has the lock. If it is paused then,
   * those who have a turn have the lock already or wait for it without a turn.
   */
  /** Losses for which others are to blame that one request bears, and shortages a suspicion. */
  private static final int PATIENCE = 4;

  /**
   * How long a suspect may keep new runs waiting for those under way to end: some starts of
   * workers, which the suspects before it may have lost.
   */
  private static final long LONGEST_CLEARING_NANOS = 5_000_000_000L;

  private final BooleanSupplier deviceIsLost;
  private final boolean offlineApart;
  private final Map<Kind, Suspicion> suspects = new ConcurrentHashMap<>();
  private final Map<ModelVersion, String> quarantined = new ConcurrentHashMap<>();
  private final ReentrantReadWriteLock onlineRuns = new ReentrantReadWriteLock();
  private final ReentrantReadWriteLock offlineRuns = new ReentrantReadWriteLock();
  private final LongAdder done = new LongAdder();
  private final LongAdder lost = new LongAdder();
  private final LongAdder tooLate = new LongAdder();

  /** Runs of a model in one of the processes, if there are several. */
  private record Kind(ModelVersion model, boolean offline) {}

  /**
   * The reason why a model is a suspect.
   *
   * @param shortages runs that have ended since for want of memory
   */
  private record Suspicion(Blame blame, int shortages) {
    Suspicion(Blame blame) {
      this(blame, 0);
    }

    /** Whose run alone hung keeps nobody else waiting. */
    boolean runsAlone() {
      return blame != Blame.NAMED;
    }
  }

  /**
   * Holds nothing against any model.
   *
   * @param deviceIsLost whether no worker process can do anything any more
   * @param offlineApart whether offline runs have a process of their own
   */
  Retries(BooleanSupplier deviceIsLost, boolean offlineApart) {
    this.deviceIsLost = deviceIsLost;
    this.offlineApart = offlineApart;
  }

  /**
   * Runs a model, once more when its worker process is lost.
   *
   * @param priority the class of the work
   * @param late whether nobody waits for it any more; it is not done once more then
   * @param control left while the work waits for others
   * @throws StatusException {@link Status#UNAVAILABLE} when it is lost again, or not done again,
   *     with the loss as its cause; or the model is quarantined; {@link Status#DEVICE_FAILURE} when
   *     it is lost with the device, for which no model is to blame
   * @throws WorkerStuckException when its process does not end: it is not done once more
   */
  void run(
      ModelVersion model,
      Priority priority,
      BooleanSupplier late,
      RunControl control,
      Runnable work) {
    attempt(model, priority, late, control, true, work);
  }

  /**
   * Builds what a model in service needs, if there is anything to build; once more when its worker
   * process is lost. Ends no suspicion: nothing was run.
   *
   * @throws StatusException as {@link #run}
   */
  void build(ModelVersion model, Priority priority, Runnable work) {
    attempt(model, priority, () -> false, RunControl.NONE, false, work);
  }

  private void attempt(
      ModelVersion model,
      Priority priority,
      BooleanSupplier late,
      RunControl control,
      boolean isRun,
      Runnable work) {
    boolean isApart = isApart(priority);
    ReentrantReadWriteLock runs = isApart ? offlineRuns : onlineRuns;
    Kind kind = new Kind(model, isApart);
    int lostForOthers = 0;
    boolean retried = false;
    @Nullable WorkerLostException loss = null;
    while (true) {
      boolean isRetry = loss != null;
      requireTrusted(model); // Others of its runs may have been first.
      @Nullable Suspicion suspicion = suspects.get(kind);
      Runnable inTime = isRetry ? unlessLate(late, work) : work;
      try {
        attemptOnce(runs, suspicion != null && suspicion.runsAlone(), control, inTime);
        cameToItsEnd(kind, isRun, isRetry);
        return;
      } catch (StatusException e) {
        if (loss != null && e.status() == Status.UNAVAILABLE && late.getAsBoolean()) {
          loss.addSuppressed(e); // Whatever it has waited for meanwhile.
          throw tooLate(model, loss);
        }
        if (isOfTheRun(e)) {
          cameToItsEnd(kind, isRun, isRetry);
        } else if (isRun && e.status() == Status.INSUFFICIENT_MEMORY) {
          lackedMemory(kind);
        }
        throw e;
      } catch (OutOfDeviceMemoryException e) {
        if (isRun) {
          lackedMemory(kind);
        }
        throw e;
      } catch (WorkerStuckException e) {
        heldBack(kind, suspicion != null, isRetry, e);
        throw e;
      } catch (WorkerLostException e) {
        if (deviceIsLost.getAsBoolean()) {
          throw new StatusException(
              Status.DEVICE_FAILURE,
              "the run of %s was interrupted, and its device is lost: %s"
                  .formatted(model, e.getMessage()),
              e);
        }
        judge(kind, suspicion != null, isRetry, e);
        boolean forOthers = e.blame() == Blame.OTHERS && ++lostForOthers < PATIENCE;
        if (retried && !forOthers) {
          lost.increment();
          throw StatusException.unavailable(
              "the run of %s was interrupted again: %s".formatted(model, e.getMessage()), e);
        }
        if (late.getAsBoolean()) {
          throw tooLate(model, e);
        }
        retried |= !forOthers;
        loss = e;
      }
    }
  }

  /** Does not begin again what has waited for others until nobody wanted it any more. */
  private static Runnable unlessLate(BooleanSupplier late, Runnable work) {
    return () -> {
      if (late.getAsBoolean()) {
        throw StatusException.unavailable("it has waited for others");
      }
      work.run();
    };
  }

  private StatusException tooLate(ModelVersion model, WorkerLostException loss) {
    tooLate.increment();
    return StatusException.unavailable(
        "the run of %s was interrupted, and its deadline has passed".formatted(model), loss);
  }

  /** Its process lives, whether it succeeded or failed. */
  private void cameToItsEnd(Kind kind, boolean isRun, boolean isRetry) {
    if (isRun) {
      suspects.remove(kind);
    }
    count(done, isRetry);
  }

  /**
   * It may have computed, and may not have begun: a few times without a loss, and it is no suspect.
   */
  private void lackedMemory(Kind kind) {
    suspects.computeIfPresent(
        kind,
        (_, suspicion) ->
            suspicion.shortages + 1 == PATIENCE
                ? null
                : new Suspicion(suspicion.blame, suspicion.shortages + 1));
  }

  /**
   * Whether a run failed so by itself, which is too large for its caller, or found no room for its
   * outputs in this process, once it has computed; others did not begin, or were not to go on.
   */
  private static boolean isOfTheRun(StatusException failure) {
    if (failure.getCause() instanceof OutOfMemoryError) {
      return true;
    }
    return switch (failure.status()) {
      case INVALID_ARGUMENT, UNIMPLEMENTED, INTERNAL, TOO_LARGE -> true;
      case UNAUTHENTICATED,
          PERMISSION_DENIED,
          RATE_LIMITED,
          NOT_FOUND,
          UNAVAILABLE,
          INSUFFICIENT_MEMORY,
          DEADLINE_EXCEEDED,
          CANCELLED,
          DEVICE_FAILURE ->
          false;
    };
  }

  private static void count(LongAdder outcome, boolean isRetry) {
    if (isRetry) {
      outcome.increment();
    }
  }

  /** What became of all that was lost. */
  RetryOverview overview() {
    return new RetryOverview(done.sum(), lost.sum(), tooLate.sum(), quarantined.size());
  }

  private static void attemptOnce(
      ReentrantReadWriteLock runs, boolean alone, RunControl control, Runnable work) {
    Lock lock = alone ? aloneIfPossible(runs, control) : shared(runs, control);
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  private static Lock shared(ReentrantReadWriteLock runs, RunControl control) {
    Lock lock = runs.readLock();
    if (runs.hasQueuedThreads() || !lock.tryLock()) {
      control.leave();
      lock.lock();
      retake(control, lock);
    }
    return lock;
  }

  /** Waits for the runs under way, but not for long. */
  private static Lock aloneIfPossible(ReentrantReadWriteLock runs, RunControl control) {
    Lock lock = runs.writeLock();
    control.leave();
    boolean alone = hasInTime(lock);
    if (!alone) {
      lock = runs.readLock();
      lock.lock();
    }
    retake(control, lock);
    return lock;
  }

  /** Nobody may want the work any more. */
  private static void retake(RunControl control, Lock held) {
    boolean goesOn = false;
    try {
      control.retake();
      goesOn = true;
    } finally {
      if (!goesOn) {
        held.unlock();
      }
    }
  }

  private static boolean hasInTime(Lock lock) {
    try {
      return lock.tryLock(LONGEST_CLEARING_NANOS, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** It is not done once more: what it was lent is not free for that. */
  private void heldBack(Kind kind, boolean suspect, boolean isRetry, WorkerStuckException loss) {
    boolean _ = isGuilty(kind, suspect, loss.blame(), String.valueOf(loss.getMessage()));
    count(lost, isRetry);
  }

  private void judge(Kind kind, boolean suspect, boolean isRetry, WorkerLostException loss) {
    String reason = String.valueOf(loss.getMessage());
    if (isGuilty(kind, suspect, loss.blame(), reason)) {
      count(lost, isRetry);
      throw StatusException.unavailable(refusal(kind.model, reason), loss);
    }
  }

  /** Suspects a model of a loss, or quarantines it. */
  private boolean isGuilty(Kind kind, boolean suspect, Blame blame, String reason) {
    return switch (blame) {
      case OTHERS, SHORTAGE -> false;
      case UNKNOWN -> {
        suspects.put(kind, new Suspicion(blame));
        yield false;
      }
      case NAMED, ALONE -> {
        if (suspect) {
          quarantined.put(kind.model, reason);
        } else {
          suspects.put(kind, new Suspicion(blame));
        }
        yield suspect;
      }
    };
  }

  /**
   * What builds for a model of which nothing runs yet, twice if its worker process is lost for
   * that, and a few times where others may be the reason; alone, if that can be, once it may be one
   * itself. It counts whatever is built by it, since room for that may have to be made in between.
   * Belongs to a thread.
   *
   * <p>What it is given waits for no lane and no memory, for which those would have to run that it
   * waits with it, and ends with {@link io.pipelane.config.Status#UNAVAILABLE} when it is lost
   * again.
   *
   * @param priority the class of the work
   */
  Consumer<Runnable> preparing(ModelVersion model, Priority priority) {
    forget(model);
    return new Preparation(model, isApart(priority) ? offlineRuns : onlineRuns);
  }

  private static final class Preparation implements Consumer<Runnable> {
    private final ModelVersion model;
    private final ReentrantReadWriteLock runs;
    private boolean alone;
    private int losses;
    private int ownLosses;

    Preparation(ModelVersion model, ReentrantReadWriteLock runs) {
      this.model = model;
      this.runs = runs;
    }

    @Override
    public void accept(Runnable work) {
      boolean done = false;
      while (!done) {
        try {
          attemptOnce(runs, alone, RunControl.NONE, work);
          done = true;
        } catch (WorkerLostException e) {
          lost(e);
        }
      }
    }

    private void lost(WorkerLostException loss) {
      losses++;
      ownLosses += isOwn(loss.blame()) ? 1 : 0;
      alone |= loss.blame() == Blame.UNKNOWN;
      if (ownLosses == 2 || losses == PATIENCE) {
        String reason = String.valueOf(loss.getMessage());
        throw StatusException.unavailable(
            "model %s cannot be built: %s"
                .formatted(
                    model, ownLosses == 2 ? described(reason) : describedAmongOthers(reason)));
      }
    }
  }

  private boolean isApart(Priority priority) {
    return offlineApart && priority == Priority.OFFLINE;
  }

  /** Whether nothing else can have been why. */
  private static boolean isOwn(Blame blame) {
    return switch (blame) {
      case NAMED, ALONE -> true;
      case OTHERS, SHORTAGE, UNKNOWN -> false;
    };
  }

  private void requireTrusted(ModelVersion model) {
    String reason = quarantined.get(model);
    if (reason != null) {
      throw StatusException.unavailable(refusal(model, reason));
    }
  }

  private static String refusal(ModelVersion model, String reason) {
    return "model %s is quarantined: %s".formatted(model, described(reason));
  }

  private static String described(String reason) {
    return "it has lost its worker process twice in a row, at last " + reason + "; load it anew";
  }

  private static String describedAmongOthers(String reason) {
    return "its worker process was lost %d times, perhaps for others, at last %s; load it again"
        .formatted(PATIENCE, reason);
  }

  /** Why a model is refused, if it is. */
  Optional<String> quarantine(ModelVersion model) {
    return Optional.ofNullable(quarantined.get(model)).map(Retries::described);
  }

  /** Forgets what is held against a model. */
  void forget(ModelVersion model) {
    suspects.keySet().removeIf(kind -> kind.model.equals(model));
    quarantined.remove(model);
  }
}
