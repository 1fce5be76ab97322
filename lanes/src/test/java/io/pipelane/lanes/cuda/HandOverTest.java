package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class HandOverTest {
  @Test
  void take_fromTwoGivers_keepsEachOnesOrderAndLosesNothing() throws Exception {
    HandOver<int[]> handOver = new HandOver<>(1_000);
    List<Thread> givers = new ArrayList<>();
    for (int giver = 0; giver < 2; giver++) {
      int me = giver;
      givers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; i < 50_000; i++) {
                      handOver.give(new int[] {me, i});
                      if (i % 1000 == 0) {
                        LockSupport.parkNanos(1_000);
                      }
                    }
                  }));
    }
    int[] next = new int[2];
    for (int i = 0; i < 100_000; i++) {
      int[] item = handOver.take();
      assertEquals(next[item[0]]++, item[1]);
    }
    assertNull(handOver.lookOut());
    for (Thread giver : givers) {
      giver.join();
    }
  }

  @Test
  void give_toASleeper_wakesItThoughItWasInterrupted() throws Exception {
    HandOver<String> handOver = new HandOver<>(0);
    FutureTask<String> taking = new FutureTask<>(handOver::take);
    Thread taker = Thread.ofPlatform().start(taking);
    awaitSleep(taker);
    taker.interrupt();
    awaitSleep(taker);
    handOver.give("here");
    assertEquals("here", taking.get());
    taker.join();
    assertTrue(taking.isDone());
  }

  private static void awaitSleep(Thread thread) {
    while (thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
  }
}
