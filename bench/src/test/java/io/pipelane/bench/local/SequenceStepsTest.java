package io.pipelane.bench.local;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SequenceStepsTest {
  private static final ModelVersion MODEL = new ModelVersion("training", 1);

  private final Map<String, ConcurrentLinkedQueue<Boolean>> starts = new ConcurrentHashMap<>();

  /** Answers at once, and keeps which steps began which sequence. */
  private InferenceService.Ticket answer(InferenceRequest request, ResultHandler handler) {
    SequenceStep step = request.sequence().orElseThrow();
    starts.computeIfAbsent(step.id(), _ -> new ConcurrentLinkedQueue<>()).add(step.start());
    handler.completed(new InferenceTimings(0, 0, 0));
    return InferenceService.Ticket.ENDED;
  }

  @Test
  void offlineCallers_haveASequenceEachAndBeginItOnce() {
    OfflineLoad load =
        new OfflineLoad(
            3,
            number ->
                new LocalCaller(
                    new SequenceSteps(this::answer, number), MODEL, List.of(), List.of()));
    while (starts.size() < 3) {
      load.awaitRuns(load.runs() + 1);
    }
    load.awaitRuns(load.runs() + 100);
    load.close();

    assertEquals(3, starts.size(), starts.keySet().toString());
    starts.forEach(
        (id, steps) -> {
          assertEquals(true, steps.peek(), id);
          assertEquals(1, steps.stream().filter(start -> start).count(), id);
        });
  }
}
