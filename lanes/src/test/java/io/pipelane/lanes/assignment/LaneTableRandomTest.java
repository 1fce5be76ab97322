package io.pipelane.lanes.assignment;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.assignment.Decision.Assigned;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class LaneTableRandomTest {
  private static final int SEQUENCES = 10_000;
  private static final int EVENTS = 20;

  @Test
  void randomEvents_giveWhatAlgorithm1Gives() {
    long first = System.nanoTime();
    for (long seed = first; seed < first + SEQUENCES; seed++) {
      try {
        runSequence(new SplittableRandom(seed));
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("with seed " + seed, e);
      }
    }
  }

  private static void runSequence(SplittableRandom random) {
    long capacity = random.nextLong(50, 200);
    int maximumLanes = random.nextInt(1, 5);
    LaneTable table = new LaneTable(capacity, maximumLanes);
    NaiveLanes naive = new NaiveLanes(capacity, maximumLanes);
    Map<String, LaneId> lanes = new HashMap<>();
    List<String> alive = new ArrayList<>();
    for (int event = 0; event < EVENTS; event++) {
      int kind = random.nextInt(10);
      if (kind < 5) {
        Job job = new Job("job" + event, random.nextLong(40), random.nextLong(80));
        if (job.persistentBytes() + job.ephemeralBytes() <= capacity) {
          if (table.arrive(job) instanceof Assigned found) {
            lanes.put(job.id(), found.lane());
          }
          naive.arrive(job);
          alive.add(job.id());
        }
      } else if (kind < 8 && !alive.isEmpty()) {
        String id = alive.remove(random.nextInt(alive.size()));
        note(table.finish(id).admitted(), lanes);
        lanes.remove(id);
        naive.finish(id);
      } else {
        long total = random.nextLong(capacity);
        boolean taken = naive.persistentChanged(total);
        assertEquals(taken, changed(table, total, lanes));
      }
      compare(table, naive, lanes);
    }
  }

  private static boolean changed(LaneTable table, long total, Map<String, LaneId> lanes) {
    try {
      note(table.persistentChanged(total), lanes);
      return true;
    } catch (StatusException e) {
      return false;
    }
  }

  private static void note(List<Assigned> admitted, Map<String, LaneId> lanes) {
    admitted.forEach(found -> lanes.put(found.job().id(), found.lane()));
  }

  private static void compare(LaneTable table, NaiveLanes naive, Map<String, LaneId> lanes) {
    table.checkSafety();
    assertEquals(naive.queue, table.pending());
    Map<LaneId, Long> sizes =
        naive.lanes.stream()
            .collect(Collectors.toMap(l -> new LaneId(l.number()), NaiveLanes.Lane::size));
    assertEquals(sizes, table.lanes());
    assertEquals(naive.placed.size(), lanes.size());
    for (NaiveLanes.Placed placed : naive.placed) {
      String id = placed.job().id();
      assertEquals(Optional.of(new LaneId(placed.lane())), table.laneOf(id));
      assertEquals(table.laneOf(id), Optional.ofNullable(lanes.get(id)));
    }
  }
}
