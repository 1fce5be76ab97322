package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who is refused because of what runs. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BehindRunsTest {
  private static final long MILLISECOND = 1_000_000;

  private final Estimates estimates = new Estimates(_ -> 0);
  private final AtomicLong now = new AtomicLong();

  private RequestQueue queue(String policy) {
    return TurnQueues.of(
        PipelaneConfig.of(Map.of("scheduling.policy", policy)), estimates, 1, now::get);
  }

  private static QueuedRequest submit(RequestQueue queue, OptionalLong deadline) {
    return queue.submit(Requests.request("m", deadline), new Ignored());
  }

  private static void requireRefused(RequestQueue queue, long deadline) {
    assertThrows(StatusException.class, () -> submit(queue, OptionalLong.of(deadline)));
  }

  private Turns turns(RequestQueue queue, boolean preemption) {
    return new Turns(
        1,
        new Precedence(queue, _ -> true, preemption, 0),
        estimates,
        OfflineGate.open(now::get),
        now::get);
  }

  @Test
  void submit_behindARun_isRefusedIfItCannotWaitForItsEnd() {
    Requests.learn(estimates, "m", 10 * MILLISECOND);
    RequestQueue queue = queue("fifo");
    Turns turns = turns(queue, false);
    submit(queue, OptionalLong.empty());
    assertNotNull(turns.newTurn().next());
    requireRefused(queue, 19 * MILLISECOND);
    now.set(2 * MILLISECOND);
    requireRefused(queue, 19 * MILLISECOND);
    submit(queue, OptionalLong.of(20 * MILLISECOND));
  }

  @Test
  void submit_toARunThatGivesWay_isTaken() {
    Requests.learn(estimates, "m", 10 * MILLISECOND);
    RequestQueue queue = queue("srtf");
    Turns turns = turns(queue, true);
    submit(queue, OptionalLong.empty());
    assertNotNull(turns.newTurn().next());
    submit(queue, OptionalLong.of(11 * MILLISECOND));
  }
}
