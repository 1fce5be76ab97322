package io.pipelane.switcher.worker;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.modelstore.ModelVersion;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does what lost its worker process once more, and refuses models that lose it twice in a row. Safe
 * for any platform thread.
 */
final class Retries {
  /*
   * Of several runs that a process was lost with, any may be the reason. So a model is a suspect
   * from a loss on until a run of it succeeds, and suspects run one at a time: who is lost then, is
   * quarantined.
   */
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final Set<ModelVersion> suspects = ConcurrentHashMap.newKeySet();
  private final Map<ModelVersion, String> quarantined = new ConcurrentHashMap<>();
  private final ReentrantLock oneSuspect = new ReentrantLock(true);

  /**
   * Does something with a model, twice if the first time its worker process is lost.
   *
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when it is lost again, or
   *     the model is quarantined
   */
  void attempt(ModelVersion model, Runnable work) {
    requireTrusted(model);
    if (!suspects.contains(model)) {
      try {
        work.run();
        return;
      } catch (WorkerLostException e) {
        suspects.add(model);
      }
    }
    attemptAlone(model, work);
  }

  private void attemptAlone(ModelVersion model, Runnable work) {
    oneSuspect.lock();
    try {
      requireTrusted(model); // Others of its runs may have been first.
      work.run();
      suspects.remove(model);
    } catch (StatusException e) {
      suspects.remove(model); // It failed, and its process lives.
      throw e;
    } catch (WorkerLostException e) {
      quarantined.put(model, String.valueOf(e.getMessage()));
      throw refused(model, String.valueOf(e.getMessage()));
    } finally {
      oneSuspect.unlock();
    }
  }

  /**
   * Prepares a model of which nothing runs yet, twice if the first time its worker process is lost;
   * others may be waited for meanwhile.
   *
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when it is lost again
   */
  void prepare(ModelVersion model, Runnable work) {
    forget(model);
    try {
      work.run();
    } catch (WorkerLostException first) {
      try {
        work.run();
      } catch (WorkerLostException e) {
        throw StatusException.unavailable(
            "model %s cannot be built: %s"
                .formatted(model, described(String.valueOf(e.getMessage()))),
            RETRY_AFTER);
      }
    }
  }

  private void requireTrusted(ModelVersion model) {
    String reason = quarantined.get(model);
    if (reason != null) {
      throw refused(model, reason);
    }
  }

  private static StatusException refused(ModelVersion model, String reason) {
    return StatusException.unavailable(
        "model %s is quarantined: %s".formatted(model, described(reason)), RETRY_AFTER);
  }

  private static String described(String reason) {
    return "it has lost its worker process twice in a row, at last " + reason + "; load it anew";
  }

  /** Why a model is refused, if it is. */
  Optional<String> quarantine(ModelVersion model) {
    return Optional.ofNullable(quarantined.get(model)).map(Retries::described);
  }

  /** Forgets what is held against a model. */
  void forget(ModelVersion model) {
    suspects.remove(model);
    quarantined.remove(model);
  }
}
