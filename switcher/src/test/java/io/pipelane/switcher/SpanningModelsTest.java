package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Models that span two devices of the processor: where their parts are, and how they come in. */
class SpanningModelsTest extends SpanningFixture {
  @Test
  void parts_areOnTheirDevicesAlone_andAnswerAsModelsOneAfterAnother() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 1, 1);
    assertEquals(List.of("cpu:1"), group.devices(both.first().version()));
    assertEquals(List.of("cpu:0"), group.devices(both.second().version()));
    assertEquals(List.of("cpu:1"), group.devicesThatCanServe(both.first().version()));
    for (int i = 0; i < 10; i++) {
      assertArrayEquals(chained(group, both, input(i)), ask(group, both, input(i)));
    }
    assertEquals(PART, lent(0));
    assertEquals(PART, lent(1));
    group.overview().values().forEach(each -> assertEquals(20, each.online().requests()));
  }

  @Test
  void place_afterModelsAreThere_movesThem_andForgetLetsThemBe() throws Exception {
    SwitcherGroup group = open(2);
    ImportedModel first = register(group, "both1", 1);
    ImportedModel second = register(group, "both2", 2);
    Both both = new Both("both", first, second);
    float[] expected = chained(group, both, input(0));
    assertEquals(List.of("cpu:0"), group.devices(first.version()));
    group.spans().place("both", Map.of("both1", 1, "both2", 0));
    assertEquals(List.of("cpu:1"), group.devices(first.version()));
    until(() -> lent(0) + lent(1) == 0); // What lay elsewhere goes as its last runs end.
    assertArrayEquals(expected, ask(group, both, input(0)));
    group.spans().forget("both");
    assertEquals(NAMES, group.devicesThatCanServe(first.version()).stream().sorted().toList());
    assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    switcher(0).evict(second.version());
    assertEquals(PART, lent(1), "they give way one by one");
  }

  /** A run waits for a read that hangs; where the model is to be is said meanwhile. */
  @Test
  void place_weightsAreOnTheirWayElsewhere_waitsForNothing() throws Exception {
    SwitcherGroup group = open(2);
    ImportedModel first = register(group, "both1", 1);
    ImportedModel second = register(group, "both2", 2);
    float[] expected = infer(group::submit, first, input(0));
    switcher(0).evict(first.version());
    CountDownLatch readGoesOn = new CountDownLatch(1);
    source = weights -> new HeldUp(weights, readGoesOn, new CountDownLatch(1));
    Call call = new Call();
    InferenceService.Ticket _ = group.submit(Call.request(first.version(), input(0)), call);
    until(() -> lent(0) > 0);
    group.spans().place("both", Map.of("both1", 1, "both2", 0));
    assertEquals(List.of("cpu:1"), group.devices(first.version()));
    assertEquals(List.of("cpu:0"), group.devices(second.version()));
    assertEquals(0, call.answers());
    readGoesOn.countDown();
    assertArrayEquals(expected, call.await());
    until(() -> lent(0) == 0);
  }

  @Test
  void place_whatCannotBe_isRefusedAndSaysWhy() throws Exception {
    SwitcherGroup group = open(2);
    group.spans().place("both", Map.of("a", 0, "b", 1));
    StatusException twice =
        assertThrows(
            StatusException.class, () -> group.spans().place("other", Map.of("b", 0, "c", 1)));
    assertEquals(Status.INVALID_ARGUMENT, twice.status());
    assertTrue(String.valueOf(twice.getMessage()).contains("part of both"), twice::getMessage);
    StatusException third =
        assertThrows(StatusException.class, () -> group.spans().place("both", Map.of("a", 2)));
    assertTrue(String.valueOf(third.getMessage()).contains("no device 2"), third::getMessage);
    group.spans().forget("both");
    group.spans().place("other", Map.of("b", 0, "c", 1));
    assertEquals(List.of("cpu:0"), group.devices(register(group, "b", 1).version()));
  }

  /** The first device's link stands still until the second one's has moved all that it has to. */
  @Test
  void switchIn_bothLinksMoveAtTheSameTime() throws Exception {
    SwitcherGroup group = open(1);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    evict(both);
    CountDownLatch secondHasCome = new CountDownLatch(1);
    source =
        weights ->
            new HeldUp(
                weights,
                areOf(weights, "both1") ? secondHasCome : new CountDownLatch(0),
                areOf(weights, "both2") ? secondHasCome : new CountDownLatch(1));
    assertArrayEquals(expected, ask(group, both, input(0)));
  }

  @Test
  void severalPartsOnADevice_ofDifferentGraphs_areThereTogether() throws Exception {
    SwitcherGroup group = open(2);
    group.spans().place("three", Map.of("a", 0, "b", 1, "c", 1));
    List<ModelVersion> models = new ArrayList<>();
    models.add(register(group, "a", 1).version());
    models.add(register(group, "b", 2).version());
    ImportedModel other = TestImports.of(TestModels.chain(LAYERS - 1, WIDTH, 3), "c", folder);
    group.register(other, ModelOptions.DEFAULT);
    models.add(other.version());
    try (Hold _ = group.spans().switchIn("three", models)) {
      assertEquals(PART, lent(0));
      assertTrue(lent(1) > PART);
    }
    ImportedModel alike = register(group, "d", 4);
    group.spans().place("three", Map.of("b", 1, "d", 1));
    StatusException refused =
        assertThrows(
            StatusException.class,
            () -> group.spans().switchIn("three", List.of(models.get(1), alike.version())));
    assertTrue(
        String.valueOf(refused.getMessage()).contains("variants of one graph"),
        refused::getMessage);
  }

  @Test
  void switchIn_modelThatHasLeft_isRefused() throws Exception {
    SwitcherGroup group = open(2);
    Both both = span(group, "both", 0, 1);
    ask(group, both, input(0));
    group.deregister(both.second().version());
    until(() -> lent(0) == 0);
    assertFalse(group.devices(both.first().version()).isEmpty());
    StatusException refused = assertThrows(StatusException.class, () -> ask(group, both, input(0)));
    assertEquals(Status.NOT_FOUND, refused.status());
  }
}
