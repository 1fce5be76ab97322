package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.util.concurrent.Semaphore;

/**
 * The turns of import processes, so that no more of them run at a time than the machine bears: the
 * first that asks is the first that has one. Safe for any thread.
 */
final class ImportTurns {
  private final Semaphore free;

  /**
   * All are free.
   *
   * @param atOnce processes at a time, 1 or more
   */
  ImportTurns(int atOnce) {
    this.free = new Semaphore(atOnce, true);
  }

  /** What is done in a turn. */
  interface Action {
    void run() throws IOException;
  }

  /**
   * Does something when it has its turn, which may be minutes later.
   *
   * @throws StatusException {@link Status#CANCELLED} when the thread is interrupted before that
   */
  void take(Action action) throws IOException {
    try {
      free.acquire();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StatusException(Status.CANCELLED, "import was interrupted before it began", e);
    }
    try {
      action.run();
    } finally {
      free.release();
    }
  }
}
