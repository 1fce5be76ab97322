package io.pipelane.lanes.process;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.channel.Message;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The sessions that workers build and warm up before a run needs them there, each worker one after
 * another. Safe for any thread.
 */
final class BackgroundSessions implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(BackgroundSessions.class.getName());

  /** A session that has cost so many workers is left for when it is needed. */
  private static final int MOST_LOSSES = 2;

  private final Map<Long, KnownSession> sessions;
  private final Supplier<WorkerBoard> board;
  private final BackgroundThreads threads;
  private final Map<Long, Integer> losses = new ConcurrentHashMap<>();

  /**
   * Nothing is built yet.
   *
   * @param sessions those that there are, by number; the owner's
   * @param atOnce workers that build at the same time
   */
  BackgroundSessions(Map<Long, KnownSession> sessions, Supplier<WorkerBoard> board, int atOnce) {
    this.sessions = sessions;
    this.board = board;
    this.threads = new BackgroundThreads(atOnce);
  }

  /**
   * A worker that is ready builds and does what the others have, the most popular first; of those
   * that have not run what was built first, as that was in the order of popularity.
   */
  void catchUp(WorkerProcess worker) {
    Map<KnownSession, Long> runs = new HashMap<>(); // Which go on meanwhile.
    sessions.values().forEach(known -> runs.put(known, known.shapes().runs()));
    List<KnownSession> all =
        runs.entrySet().stream()
            .sorted(
                Map.Entry.<KnownSession, Long>comparingByValue()
                    .reversed()
                    .thenComparingLong(entry -> entry.getKey().number()))
            .map(Map.Entry::getKey)
            .toList();
    all.forEach(known -> later(worker, () -> buildInBackground(worker, known)));
    all.forEach(known -> later(worker, () -> warmUp(worker, known, known.shapes().all())));
  }

  /**
   * Has a session built by those that may come to need it.
   *
   * @param isActiveSpared whether the active worker builds it when a run of its own needs it
   */
  void build(KnownSession known, boolean isActiveSpared) {
    @Nullable WorkerProcess spared = isActiveSpared ? board.get().active().orElse(null) : null;
    board.get().workers().stream()
        .filter(worker -> !worker.equals(spared))
        .forEach(worker -> later(worker, () -> buildInBackground(worker, known)));
  }

  /**
   * A run has needed a session, and its worker has built it. So it was not what had cost workers
   * their lives, or is not any more: where it was left for this, those that stand by build it. One
   * more loss leaves it again.
   */
  void builtForARun(KnownSession known) {
    if (losses.getOrDefault(known.number(), 0) >= MOST_LOSSES) {
      losses.put(known.number(), MOST_LOSSES - 1);
      for (WorkerProcess worker : board.get().standbys()) {
        later(worker, () -> buildInBackground(worker, known));
        later(worker, () -> warmUp(worker, known, known.shapes().all()));
      }
    }
  }

  /** Has a worker do something once it has done all that it was told before. */
  private void later(WorkerProcess worker, Runnable work) {
    threads.execute(worker.id(), this::idsBesideActive, work);
  }

  private Set<Integer> idsBesideActive() {
    @Nullable WorkerProcess active = board.get().active().orElse(null);
    return board.get().workers().stream()
        .filter(worker -> !worker.equals(active))
        .map(WorkerProcess::id)
        .collect(Collectors.toSet());
  }

  /** Has workers that stand by do what the active one does again and again. */
  void repeat(KnownSession known, Message.WarmUp run) {
    for (WorkerProcess worker : board.get().standbys()) {
      later(worker, () -> warmUp(worker, known, List.of(run)));
    }
  }

  /**
   * What cannot be done is left to the first request; a worker that has taken over is let alone.
   */
  private void warmUp(WorkerProcess worker, KnownSession known, List<Message.WarmUp> runs) {
    for (Message.WarmUp run : runs) {
      if (!board.get().standbys().contains(worker) || !worker.enter()) {
        return;
      }
      try (UnderWay.Ended _ = worker.underWay().begin()) {
        if (sessions.containsKey(known.number())
            && worker.builds().has(known)
            && worker.builds().warmUp(run.opening(known.region(worker)))) {
          known.shapes().warmedUp(run);
        }
      } catch (WorkerLostException e) {
        if (e.blame() != WorkerLostException.Blame.OTHERS) {
          known.shapes().costAWorker(run);
        }
      } catch (StatusException e) {
        LOG.log(levelOf(e), "worker " + worker.id() + " has not warmed a session up", e);
      } finally {
        worker.leave();
      }
    }
  }

  /** That something else went first, or the session is gone, is nothing to tell. */
  private static Level levelOf(StatusException notWarmedUp) {
    return switch (notWarmedUp.status()) {
      case UNAVAILABLE, NOT_FOUND -> Level.DEBUG;
      default -> Level.WARNING;
    };
  }

  /** What cannot be built, or costs a worker again and again, is left for when it is needed. */
  private void buildInBackground(WorkerProcess worker, KnownSession known) {
    boolean wanted =
        sessions.containsKey(known.number())
            && losses.getOrDefault(known.number(), 0) < MOST_LOSSES;
    if (!wanted || !worker.enter()) {
      return;
    }
    try (UnderWay.Ended _ = worker.underWay().begin()) {
      Message.Built _ = worker.builds().requireInBackground(known);
      losses.remove(known.number());
      if (!sessions.containsKey(known.number())) {
        worker.builds().close(known.number());
      }
    } catch (WorkerLostException e) {
      if (e.blame() != WorkerLostException.Blame.OTHERS) {
        losses.merge(known.number(), 1, Integer::sum);
      }
    } catch (StatusException | OutOfDeviceMemoryException e) {
      LOG.log(Level.WARNING, "worker " + worker.id() + " has not built a session", e);
    } finally {
      worker.leave();
    }
  }

  /** A session is there no longer. */
  void forget(long number) {
    losses.remove(number);
  }

  /** Waits for what is under way. */
  @Override
  public void close() {
    threads.close();
  }
}
