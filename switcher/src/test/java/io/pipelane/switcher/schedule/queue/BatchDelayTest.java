package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What waits for others that would run with it, and for how long. */
class BatchDelayTest extends BatchFixture {
  @Test
  void maxDelay_laneIsIdle_nobodyIsHeld() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      while (queue.idle() == 0) {
        Thread.onSpinWait();
      }
      submit(1);
      assertEquals(1, rows(taken.get()));
    }
  }

  /** The lane thread that answered has not come back yet. */
  @Test
  void maxDelay_comesUponTheAnswerOfTheRunBefore_isNotHeld() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    laneAnswers();
    submit(1);
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      try {
        assertEquals(1, rows(taken.get(10, TimeUnit.SECONDS)));
      } finally {
        queue.close(); // Who is held goes on.
      }
    }
  }

  /** The members of a batch are answered one after another, and some send again before the last. */
  @Test
  void maxDelay_twoComeUponTheAnswer_waitUntilTheBatchIsFull() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    laneAnswers();
    submit(1);
    submit(2);
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      while (queue.waiting() > 0) {
        Thread.onSpinWait();
      }
      for (int i = 3; i <= 8; i++) {
        assertTrue(!taken.isDone());
        submit(i);
      }
      assertEquals(8, rows(taken.get()));
    }
  }

  @Test
  void maxDelay_laneComesFromARun_waitsUntilTheBatchIsFull() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    submit(1);
    laneAnswers();
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      while (queue.waiting() > 0) {
        Thread.onSpinWait();
      }
      for (int i = 2; i <= 8; i++) {
        assertTrue(!taken.isDone());
        submit(i);
      }
      assertEquals(8, rows(taken.get()));
    }
  }

  @Test
  void maxDelay_anotherLaneBecomesIdle_letsTheBatchGo() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    submit(1);
    laneAnswers();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<QueuedRequest> held = threads.submit(this::take);
      while (queue.waiting() > 0) {
        Thread.onSpinWait();
      }
      Future<?> other = threads.submit(queue::take);
      assertEquals(1, rows(held.get()));
      queue.close();
      assertEquals(null, other.get());
    }
  }

  @Test
  void maxDelay_deadlineWouldPass_isNotHeld() {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    submit(1, request(1, 1, OptionalLong.of(100_000), Priority.ONLINE, "y"));
    laneAnswers();
    assertEquals(1, rows(take()));
  }

  @Test
  void maxDelay_oneComesThatCannotWait_letsTheBatchGo() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    submit(1, request(1, 1, OptionalLong.of(HOUR), Priority.ONLINE, "y"));
    laneAnswers();
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      while (queue.waiting() > 0) {
        Thread.onSpinWait();
      }
      submit(2);
      while (queue.waiting() > 0) {
        assertTrue(!taken.isDone(), "it is held");
      }
      submit(3, request(1, 3, OptionalLong.of(100_000), Priority.ONLINE, "y"));
      assertEquals(2, rows(taken.get()));
    }
  }

  @Test
  void maxDelay_isOver_runsWhatThereIs() {
    agree(new BatchRules(List.of(2, 4, 8), 1_000, false));
    submit(1);
    laneAnswers();
    now.set(2_000);
    assertEquals(1, rows(take()));
  }
}
