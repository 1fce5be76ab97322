package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Pages of weights that lanes have borrowed beside a run that is killed with its process, which
 * stays for as long as a test wants.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StuckLoansTest {
  private final SteppedSwitcher opened = new SteppedSwitcher();
  private final SteppedSessions sessions = opened.sessions;
  private final Switcher switcher = opened.switcher;
  private final CountDownLatch gone = new CountDownLatch(1);

  @AfterEach
  void everythingIsGivenBack() {
    gone.countDown();
    while (switcher.memory().lanes().open() > 0) {
      Thread.onSpinWait();
    }
    opened.close();
  }

  private void requireAnswer(ImportedModel model) {
    SteppedSwitcher.requireAnswer(model, opened.submit(model));
  }

  private void requireUnavailable(ImportedModel model) {
    StatusException error = assertThrows(StatusException.class, opened.submit(model)::await);
    assertEquals(Status.UNAVAILABLE, error.status(), error.toString());
    assertTrue(error.retryAfter() != null, error.toString());
    assertTrue(error.toString().contains("its worker stays"), error.toString());
  }

  /** Has the runs of a structure end so once they have taken so many steps. */
  private void stickAfter(String structure, int steps) {
    sessions.taken =
        (of, count) -> {
          if (of.equals(structure) && count == steps) {
            throw new WorkerStuckException(
                "its worker stays", Blame.OTHERS, () -> Latches.await(gone));
          }
        };
  }

  @Test
  void request_needsPagesThatAStuckRunsLaneHasBorrowed_isRefused() {
    ImportedModel stays = opened.registered(1, 1);
    ImportedModel large = opened.registered(2, 3);
    sessions.steps = structure -> structure.equals("of 1") ? SteppedSwitcher.WORKING_MIB + 2 : 1;
    stickAfter("of 1", SteppedSwitcher.WORKING_MIB + 2);
    requireUnavailable(stays);
    assertEquals(2 * SteppedSwitcher.MIB, switcher.memory().weights().lanesBytes());
    requireUnavailable(large);
    gone.countDown();
    while (switcher.memory().lanes().open() > 0) {
      Thread.onSpinWait();
    }
    requireAnswer(large);
  }

  /** It keeps what it has in its lane, not what somebody else has borrowed beside it. */
  @Test
  void request_needsPagesThatAnotherRunHadBorrowedBesideAStuckOne_hasThem() {
    AtomicBoolean tried = new AtomicBoolean();
    sessions.building =
        structure -> {
          if (structure.equals("of 1") && tried.compareAndSet(false, true)) {
            throw new OutOfDeviceMemoryException(1); // Room is made for it then.
          }
        };
    ImportedModel stays = BoundSessions.model("1", "of 1", SteppedSwitcher.MIB);
    switcher.announce(stays, ModelOptions.DEFAULT);
    ImportedModel borrows = opened.registered(2, 1);
    ImportedModel large = opened.registered(3, 3);
    sessions.steps = structure -> structure.equals("of 2") ? SteppedSwitcher.WORKING_MIB : 1;
    stickAfter("of 1", 1);
    requireUnavailable(stays);
    assertTrue(tried.get());
    requireAnswer(borrows);
    requireAnswer(large);
  }
}
