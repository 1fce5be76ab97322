package io.pipelane.bench.grouping;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.bench.grouping.PipeSwitchSearch.Found;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.OptimalGroups;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PipeSwitchSearchTest {
  private static final Duration LONG_ENOUGH = Duration.ofHours(1);

  private static PipelineModel randomModel(Random random, int layers) {
    List<Segment> segments = new ArrayList<>();
    for (int i = 0; i < layers; i++) {
      long bytes = random.nextInt(3) == 0 ? 0 : random.nextLong(1_000);
      segments.add(new Segment(bytes, random.nextLong(1_500)));
    }
    return new PipelineModel(LinkModel.line(random.nextInt(300), 1e9), segments, 0, 0);
  }

  @Test
  void search_withAndWithoutPruning_findsWhatOursFinds() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      PipelineModel model = randomModel(random, 1 + random.nextInt(11));
      long optimal = OptimalGroups.of(model).predict(0).totalNanos();
      for (int prunings = 0; prunings < 4; prunings++) {
        Found found =
            new PipeSwitchSearch(model, (prunings & 1) != 0, (prunings & 2) != 0, () -> 0)
                .search(LONG_ENOUGH);
        assertTrue(found.finished());
        assertEquals(
            optimal,
            model.predict(found.groups()).totalNanos(),
            "seed " + seed + " round " + round + " prunings " + prunings + ": " + model);
      }
    }
  }

  @Test
  void search_beyondItsLimit_endsWithWhatItHas() {
    PipelineModel model = randomModel(new Random(1), 40);
    AtomicLong clock = new AtomicLong();
    Found found =
        new PipeSwitchSearch(model, false, false, clock::incrementAndGet)
            .search(Duration.ofNanos(10));
    assertFalse(found.finished());
    long total = model.predict(found.groups()).totalNanos();
    assertTrue(total >= OptimalGroups.of(model).predict(0).totalNanos());
    assertTrue(found.calls() < 100_000, "calls: " + found.calls());
  }

  @Test
  void recordedPlans_ofTheH200_haveThePapersLayers() throws Exception {
    RecordedPlans plans = RecordedPlans.h200();
    assertEquals(
        List.of(464, 189, 606, 139), plans.models().stream().map(m -> m.layers().size()).toList());
    for (RecordedPlans.Model model : plans.models()) {
      PipelineModel layers = plans.pipeline(model, 1);
      PipelineModel segments = Predictions.cut(layers, 32);
      assertTrue(segments.segments().size() <= 32);
      assertEquals(layers.weightBytes(), segments.weightBytes());
      assertEquals(layers.warmNanos(), segments.warmNanos());
      long optimal = OptimalGroups.of(layers).predict(0).totalNanos();
      assertTrue(optimal <= OptimalGroups.of(segments).predict(0).totalNanos());
      assertTrue(optimal / 1e6 <= new Predictions(layers).equalBytesMillis(32, 1 << 20));
    }
  }
}
