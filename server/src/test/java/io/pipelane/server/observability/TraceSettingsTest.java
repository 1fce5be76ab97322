package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.observability.TraceSetting.Level;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TraceSettingsTest {
  private final TraceSettings settings = new TraceSettings(TraceSetting.OFF);

  private int sampledOf(String model, int requests) {
    return (int) IntStream.range(0, requests).filter(_ -> isSampled(model)).count();
  }

  private boolean isSampled(String model) {
    TraceSampling sampling = settings.sampling(model);
    return sampling.isDue() && sampling.take();
  }

  @Test
  void requestsThatAreNotTracedAfterAll_leaveTheCount() {
    settings.set(new TraceSetting(Level.TIMESTAMPS, 1, 3));
    for (int i = 0; i < 5; i++) {
      assertTrue(settings.sampling("a").isDue());
    }
    assertEquals(3, settings.setting().count());
    assertEquals(3, sampledOf("a", 100));
  }

  @Test
  void whereTracesGoNowhere_noneCanBeAskedFor() {
    TraceSettings nowhere = TraceSettings.nowhere();
    TraceSetting all = new TraceSetting(Level.TIMESTAMPS, 1, TraceSetting.UNLIMITED);
    TraceChange one = new TraceChange(Level.TIMESTAMPS, null, null);
    assertEquals(
        Status.UNIMPLEMENTED, assertThrows(StatusException.class, () -> nowhere.set(all)).status());
    assertEquals(
        Status.UNIMPLEMENTED,
        assertThrows(StatusException.class, () -> nowhere.set("a", one)).status());
    nowhere.set(new TraceSetting(Level.OFF, 7, TraceSetting.UNLIMITED));
    assertEquals(7, nowhere.setting().rate());
  }

  @Test
  void nothingIsTracedAtFirst() {
    assertEquals(0, sampledOf("a", 5_000));
  }

  @Test
  void oneRequestInSoManyIsTraced() {
    settings.set(new TraceSetting(Level.TIMESTAMPS, 10, TraceSetting.UNLIMITED));
    assertTrue(isSampled("a"), "the first of ten");
    assertEquals(0, sampledOf("b", 9), "models without a setting are counted together");
    assertEquals(10, sampledOf("a", 100));
  }

  @Test
  void aCountIsUsedUp() {
    settings.set(new TraceSetting(Level.TIMESTAMPS, 1, 3));
    assertEquals(3, sampledOf("a", 10));
    assertEquals(0, settings.setting().count());
    settings.set(new TraceSetting(Level.TIMESTAMPS, 1, 2));
    assertEquals(2, sampledOf("a", 10));
  }

  @Test
  void aModelsOwnSettingOverridesAndFollowsInTheRest() {
    settings.set("a", new TraceChange(Level.TIMESTAMPS, null, null));
    assertEquals(1, sampledOf("a", 1000));
    assertFalse(isSampled("b"));
    settings.set(new TraceSetting(Level.OFF, 2, TraceSetting.UNLIMITED));
    assertEquals(500, sampledOf("a", 1000));
    assertEquals(new TraceSetting(Level.TIMESTAMPS, 2, -1), settings.setting("a"));
    assertEquals(new TraceChange(Level.TIMESTAMPS, null, null), settings.own("a"));
    settings.set("a", TraceChange.NONE);
    assertEquals(0, sampledOf("a", 1000));
  }

  @Test
  void aCountIsNeverExceededByManyThreads() throws InterruptedException {
    settings.set(new TraceSetting(Level.TIMESTAMPS, 2, 700));
    AtomicInteger sampled = new AtomicInteger();
    Thread[] threads = new Thread[4];
    for (int i = 0; i < threads.length; i++) {
      threads[i] = Thread.ofPlatform().start(() -> sampled.addAndGet(sampledOf("a", 1000)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(700, sampled.get());
  }

  @Test
  void whatIsOutOfRangeIsRefused() {
    assertThrows(StatusException.class, () -> new TraceSetting(Level.OFF, 0, 1));
    assertThrows(StatusException.class, () -> new TraceSetting(Level.OFF, 1, -2));
    TraceChange wrong = new TraceChange(null, 0, null);
    assertThrows(StatusException.class, () -> settings.set("a", wrong));
    assertEquals(TraceChange.NONE, settings.own("a"));
  }
}
