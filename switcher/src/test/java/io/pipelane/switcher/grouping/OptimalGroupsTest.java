package io.pipelane.switcher.grouping;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.calibration.LinkProfile;
import io.pipelane.lanes.calibration.LinkProfile.Copy;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class OptimalGroupsTest {
  private static final int MOST_LAYERS = 16;
  private static final int ROUNDS = 400;

  @Test
  void groups_ofRandomModels_areAsGoodAsTheBestOfAllGroupings() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < ROUNDS; round++) {
      // All sizes come up, the largest now and then: it has 32,768 groupings.
      int layers = round % 40 == 0 ? MOST_LAYERS : 1 + random.nextInt(11);
      PipelineModel model = randomModel(random, layers);
      long resident = residentPrefix(random, model.weightBytes());
      OptimalGroups optimal = OptimalGroups.of(model);
      List<Group> groups = optimal.groups(resident);
      String context = "seed " + seed + " round " + round + ": " + groups + " of " + model;
      requireCoverage(groups, resident, model, context);
      long total = model.predict(groups).totalNanos();
      assertEquals(bestOfAll(model, resident), total, context);
      assertEquals(total, optimal.predict(resident).totalNanos(), context);
    }
  }

  private static long residentPrefix(Random random, long weightBytes) {
    return switch (random.nextInt(3)) {
      case 0 -> 0;
      case 1 -> weightBytes;
      default -> random.nextLong(weightBytes + 1);
    };
  }

  private static PipelineModel randomModel(Random random, int layers) {
    List<Segment> segments = new ArrayList<>();
    for (int i = 0; i < layers; i++) {
      long bytes = random.nextInt(3) == 0 ? 0 : random.nextLong(1_000);
      segments.add(new Segment(bytes, random.nextInt(4) == 0 ? 0 : random.nextLong(2_000)));
    }
    LinkModel link =
        random.nextBoolean()
            ? LinkModel.line(random.nextInt(300), 1e9 * (0.2 + 2 * random.nextDouble()))
            : randomLink(random);
    long wait = random.nextBoolean() ? 0 : random.nextLong(200);
    return new PipelineModel(link, segments, random.nextLong(300), wait);
  }

  /** Measured times need be neither concave nor rising. */
  private static LinkModel randomLink(Random random) {
    List<Copy> copies = new ArrayList<>();
    for (long bytes = 64; bytes < 10_000; bytes *= 1 + random.nextInt(1, 4)) {
      copies.add(new Copy(bytes, 1 + random.nextInt(100) + bytes * random.nextDouble()));
    }
    return new LinkModel(new LinkProfile(copies));
  }

  private static void requireCoverage(
      List<Group> groups, long resident, PipelineModel model, String context) {
    long begin = resident;
    for (Group group : groups) {
      assertEquals(begin, group.offset(), context);
      assertTrue(group.end() > group.offset(), context);
      begin = group.end();
    }
    assertEquals(Math.max(resident, model.weightBytes()), begin, context);
  }

  /** Enumerates where groups may end, one bit for each missing segment but the last. */
  private static long bestOfAll(PipelineModel model, long resident) {
    List<Long> ends = new ArrayList<>();
    long end = 0;
    for (Segment segment : model.segments()) {
      end += segment.bytes();
      if (segment.bytes() > 0 && end > resident) {
        ends.add(end);
      }
    }
    if (ends.isEmpty()) {
      return model.predict(List.of()).totalNanos();
    }
    long best = Long.MAX_VALUE;
    for (int cuts = 0; cuts < 1 << (ends.size() - 1); cuts++) {
      List<Group> groups = new ArrayList<>();
      long begin = resident;
      for (int i = 0; i < ends.size(); i++) {
        if (i == ends.size() - 1 || (cuts >> i & 1) == 1) {
          groups.add(new Group(begin, ends.get(i)));
          begin = ends.get(i);
        }
      }
      best = Math.min(best, model.predict(groups).totalNanos());
    }
    return best;
  }

  @Test
  void groups_whenCopiesCostNothingToBegin_areNoWorseThanOnePerSegment() {
    LinkModel link = LinkModel.line(0, 1e9);
    List<Segment> segments = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      segments.add(new Segment(1_000, 1_000));
    }
    PipelineModel model = new PipelineModel(link, segments, 0, 0);
    assertEquals(101_000, OptimalGroups.of(model).predict(0).totalNanos());
  }

  @Test
  void groups_whenCopiesCostMoreThanAllElse_areOne() {
    PipelineModel model =
        new PipelineModel(
            LinkModel.line(1e6, 1e9), List.of(new Segment(10, 10), new Segment(10, 10)), 0, 0);
    assertEquals(List.of(new Group(0, 20)), OptimalGroups.of(model).groups(0));
  }

  @Test
  void groups_ofAModelWithoutWeights_areNone() {
    PipelineModel model =
        new PipelineModel(LinkModel.line(1, 1e9), List.of(new Segment(0, 7)), 0, 0);
    assertEquals(List.of(), OptimalGroups.of(model).groups(0));
    assertEquals(7, OptimalGroups.of(model).predict(0).totalNanos());
  }
}
