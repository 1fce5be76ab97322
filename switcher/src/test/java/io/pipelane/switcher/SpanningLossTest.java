package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Models that span two devices of the processor, one of which fails, or is lost. */
class SpanningLossTest extends SpanningFixture {
  @Test
  void switchIn_oneDeviceCannotReadItsPart_nothingStaysOnAny() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    ImportedModel beside = register(group, "beside", 9);
    float[] expected = chained(group, both, input(0));
    infer(group::submit, beside, input(0));
    evict(both);
    long[] before = {lent(0), lent(1)};
    source =
        weights -> {
          if (areOf(weights, "both2")) {
            throw new IllegalStateException("the file has gone");
          }
          return weights;
        };
    StatusException refused = assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains("cpu:1") && message.contains("the file has gone"), message);
    assertArrayEquals(before, new long[] {lent(0), lent(1)}, "rolled back on both");
    verify();
    source = UnaryOperator.identity();
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  @Test
  void partThatCannotBeTakenNow_saysWhenToTryAgain() throws Exception {
    SwitcherGroup group = open(1);
    Both both = span(group, "both", 0, 1);
    source =
        _ -> {
          throw StatusException.unavailable("not now", Duration.ofSeconds(3));
        };
    StatusException refused =
        assertThrows(StatusException.class, () -> group.spans().switchIn("both", both.models()));
    assertEquals(Status.UNAVAILABLE, refused.status());
    assertEquals(Duration.ofSeconds(3), refused.retryAfter());
    source = UnaryOperator.identity();
  }

  @Test
  void copiesThatFailOnTheirWay_failTheRequestAndTakeTheUnitOut() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    evict(both);
    CountDownLatch requestHasFailed = new CountDownLatch(1);
    source =
        weights ->
            areOf(weights, "both2")
                ? new HeldUp(weights, requestHasFailed, new CountDownLatch(1))
                : weights;
    failing.get(1).failArrivals(1); // The others come when nobody waits for them any more.
    assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    requestHasFailed.countDown();
    source = UnaryOperator.identity();
    until(() -> lent(0) == 0 && lent(1) == 0);
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  /** A device that is lost while a request holds parts may fail in whatever it is asked to do. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void close_oneDeviceFails_theOtherOnesPartIsGivenBackAllTheSame(int lost) throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    evict(both);
    failing.get(lost).failArrivals(1);
    failing.get(lost).failUnmap(true);
    Hold whole = group.spans().switchIn(both.name(), both.models());
    for (int device = 0; device < NAMES.size(); device++) {
      Switcher arriving = switcher(device);
      until(() -> arriving.memory().weights().entries().stream().noneMatch(Ledger.Entry::arriving));
    }
    whole.close();
    assertEquals(0, leases(1 - lost));
    failing.get(lost).failUnmap(false);
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  private int leases(int device) {
    return switcher(device).memory().weights().entries().stream()
        .mapToInt(Ledger.Entry::leases)
        .sum();
  }

  @Test
  void lostDevice_noOtherHasRoomForItsPart_theModelIsRefusedWithTheReason_andOthersGoOn()
      throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    ImportedModel beside = register(group, "beside", 9);
    ask(group, both, input(0));
    Objects.requireNonNull(sessions.get("cpu:1")).lose();
    StatusException refused = assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    assertEquals(Status.UNAVAILABLE, refused.status());
    String message = String.valueOf(refused.getMessage());
    assertTrue(
        message.contains("device cpu:1 is lost") && message.contains("restart the server"),
        message);
    assertThrows(StatusException.class, () -> group.spans().requireUsable("both", both.models()));
    infer(group::submit, beside, input(0));
    infer(group::submit, both.first(), input(0));
  }

  /** As any model whose device is lost, though the whole is not asked for, or has no place. */
  @Test
  void lostDevice_partIsAskedByItsOwnName_isAnsweredByAnother() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    Objects.requireNonNull(sessions.get("cpu:1")).lose();
    assertEquals(List.of("cpu:0"), group.devicesThatCanServe(both.second().version()));
    assertArrayEquals(expected, chained(group, both, input(0)));
    assertEquals(List.of("cpu:0"), group.devices(both.second().version()));
    assertThrows(StatusException.class, () -> ask(group, both, input(0)), "no room together");
    assertArrayEquals(expected, chained(group, both, input(0)));
    Objects.requireNonNull(sessions.get("cpu:0")).lose();
    StatusException refused =
        assertThrows(StatusException.class, () -> infer(group::submit, both.second(), input(0)));
    assertEquals(Status.DEVICE_FAILURE, refused.status(), "no device is left");
  }

  @Test
  void lostDevice_anotherHasRoomForItsPart_isReplacedByThat() throws Exception {
    SwitcherGroup group = open(2);
    group.spans().place("both", Map.of("both1", 0, "both2", 1));
    ImportedModel first = register(group, "both1", 1);
    ImportedModel second = TestImports.of(TestModels.chain(LAYERS - 1, WIDTH, 2), "both2", folder);
    group.register(second, ModelOptions.DEFAULT);
    Both both = new Both("both", first, second);
    float[] expected = ask(group, both, input(0));
    try (Hold whole = group.spans().switchIn(both.name(), both.models())) {
      Objects.requireNonNull(sessions.get("cpu:1")).lose();
      StatusException failed =
          assertThrows(StatusException.class, () -> infer(whole, second, input(0)));
      assertEquals(Status.UNAVAILABLE, failed.status(), failed.toString());
      group.spans().requireUsable("both", both.models());
      assertArrayEquals(expected, ask(group, both, input(0)), "beside one that is under way");
    }
    assertEquals(List.of("cpu:0"), group.devices(first.version()));
    assertEquals(List.of("cpu:0"), group.devices(second.version()));
    assertArrayEquals(expected, chained(group, both, input(0)));
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  @Test
  void switchIn_deviceIsLostMeanwhile_isToBeTriedAgain() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    evict(both);
    source =
        weights -> {
          if (areOf(weights, "both2")) {
            Objects.requireNonNull(sessions.get("cpu:1")).lose();
            throw new StatusException(Status.DEVICE_FAILURE, "it does nothing any more");
          }
          return weights;
        };
    StatusException refused =
        assertThrows(
            StatusException.class, () -> group.spans().switchIn(both.name(), both.models()));
    assertEquals(Status.UNAVAILABLE, refused.status(), refused.toString());
    assertTrue(refused.toString().contains("cpu:1 was lost under it"), refused.toString());
  }
}
