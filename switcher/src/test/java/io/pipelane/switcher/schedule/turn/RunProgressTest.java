package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.FirstComeFirstServed;
import io.pipelane.switcher.schedule.queue.Requests;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class RunProgressTest {
  private final Requests requests = new Requests(new FirstComeFirstServed(), new Estimates(_ -> 0));

  private RunProgress run(long expectedNanos) {
    RunProgress run =
        new RunProgress(requests.submitted("m", 0, OptionalLong.empty()), expectedNanos, 1_000);
    run.segments(10);
    return run;
  }

  @Test
  void remaining_isWhatWasExpectedLessWhatTheRunHasHad() {
    RunProgress run = run(500);
    assertEquals(500, run.remainingNanos(1_000));
    run.at(3);
    run.waited(40);
    assertEquals(400, run.remainingNanos(1_140));
  }

  @Test
  void had_leavesOutWhatTheRunWaitsForOthersToGiveUp() {
    RunProgress run = run(500);
    run.blocks(1_100);
    run.blocks(1_150);
    assertEquals(100, run.hadNanos(1_900), "it has not got on since");
    assertEquals(400, run.remainingNanos(1_900));
    run.unblocked(2_100);
    run.unblocked(2_150);
    assertEquals(150, run.hadNanos(2_150));
    assertEquals(0, run.waitedNanos(), "that is for its turn");
    run.blocks(2_200);
    run.unblocked(2_300);
    assertEquals(200, run.hadNanos(2_300));
  }

  @Test
  void remaining_ofAnUnknownRun_isAsItHasComeSoFar() {
    RunProgress run = run(0);
    assertEquals(0, run.remainingNanos(1_300), "nothing is known yet");
    run.at(2);
    assertEquals(1_200, run.remainingNanos(1_300));
  }

  @Test
  void remaining_ofAnOverdueRun_isNoMoreThanAnotherOfItsKindNeeds() {
    RunProgress run = run(500);
    run.at(2);
    assertEquals(500, run.remainingNanos(1_600));
    run.at(8);
    assertEquals(150, run.remainingNanos(1_600));
  }
}
