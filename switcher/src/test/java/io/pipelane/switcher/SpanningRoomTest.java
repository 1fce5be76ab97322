package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * Models that span two devices of the processor, with room for some parts, and what contends with
 * them for it.
 */
class SpanningRoomTest extends SpanningFixture {
  @Test
  void partsThatCanNeverBeTogether_areRefusedBeforeAnythingMoves() throws Exception {
    SwitcherGroup group = open(1);
    group.spans().place("three", Map.of("a", 0, "b", 1, "c", 1));
    ImportedModel beside = register(group, "beside", 9);
    infer(group::submit, beside, input(0));
    long[] before = {lent(0), lent(1)};
    List<ModelVersion> models = new ArrayList<>();
    models.add(register(group, "a", 1).version());
    models.add(register(group, "b", 2).version());
    ImportedModel other = TestImports.of(TestModels.chain(LAYERS - 1, WIDTH, 3), "c", folder);
    group.register(other, ModelOptions.DEFAULT);
    models.add(other.version());
    StatusException refused =
        assertThrows(StatusException.class, () -> group.spans().switchIn("three", models));
    assertEquals(Status.INSUFFICIENT_MEMORY, refused.status());
    assertTrue(
        String.valueOf(refused.getMessage()).contains("device cpu:1 cannot take its part of three"),
        refused::getMessage);
    assertArrayEquals(before, new long[] {lent(0), lent(1)});
  }

  @Test
  void eviction_takesAllPartsOut() throws Exception {
    SwitcherGroup group = open(1);
    Both both = span(group, "both", 0, 1);
    ask(group, both, input(0));
    ImportedModel rival = register(group, "rival", 9);
    int device = NAMES.indexOf(group.devices(rival.version()).getFirst());
    infer(group::submit, rival, input(0));
    until(() -> lent(1 - device) == 0);
    assertEquals(PART, resident(device, rival));
    assertEquals(0, resident(0, both.first()) + resident(1, both.second()));
  }

  /** A run for want of whose memory the unit goes waits until the request has ended everywhere. */
  @Test
  void eviction_waitsForTheWhole_andThenTakesAllOut() throws Exception {
    SwitcherGroup group = open(1);
    Both both = span(group, "both", 0, 1);
    float[] expected = chained(group, both, input(0));
    ImportedModel rival = register(group, "rival", 9);
    int device = NAMES.indexOf(group.devices(rival.version()).getFirst());
    List<Call> rivals = new ArrayList<>();
    Hold whole = group.spans().switchIn(both.name(), both.models());
    try {
      for (int i = 0; i < 8; i++) { // More than there are threads of lanes.
        rivals.add(new Call());
        group.submit(Call.request(rival.version(), input(i)), rivals.getLast());
      }
      until(() -> switcher(device).queue().requests() < 8);
      assertArrayEquals(
          expected, infer(whole, both.second(), infer(whole, both.first(), input(0))));
      assertEquals(0, rivals.stream().mapToInt(Call::answers).sum());
      assertEquals(PART, resident(0, both.first()));
      assertEquals(PART, resident(1, both.second()));
    } finally {
      whole.close();
    }
    rivals.forEach(Call::await);
    until(() -> lent(1 - device) == 0);
  }

  /** Two models that want the same two devices in opposite order, others beside them. */
  @Test
  void contention_everyRequestIsAnsweredAndNothingIsLeft() throws Exception {
    long seed = System.nanoTime();
    SwitcherGroup group = open(1);
    List<Both> spans = List.of(span(group, "there", 0, 1), span(group, "back", 1, 3));
    List<ImportedModel> rivals =
        List.of(register(group, "rival1", 8), register(group, "rival2", 9));
    List<float[]> expected = new ArrayList<>();
    for (Both both : spans) {
      expected.add(chained(group, both, input(0)));
    }
    List<Callable<Object>> clients = new ArrayList<>();
    for (int c = 0; c < 6; c++) {
      Random random = new Random(seed + c);
      clients.add(
          () -> {
            for (int k = 0; k < 60; k++) {
              int i = random.nextInt(3);
              if (i < 2) {
                assertArrayEquals(expected.get(i), ask(group, spans.get(i), input(0)));
              } else {
                infer(group::submit, rivals.get(random.nextInt(2)), input(0));
              }
              verify();
            }
            return "done";
          });
    }
    try (ExecutorService threads = Executors.newFixedThreadPool(clients.size())) {
      for (Future<Object> client : threads.invokeAll(clients)) {
        assertEquals("done", client.get(), "seed " + seed);
      }
    }
    until(
        () -> {
          for (Both both : spans) {
            if ((resident(both.name().equals("there") ? 0 : 1, both.first()) == 0)
                != (resident(both.name().equals("there") ? 1 : 0, both.second()) == 0)) {
              return false; // Whoever goes takes the rest along.
            }
          }
          return true;
        });
  }
}
