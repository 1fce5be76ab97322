package io.pipelane.switcher.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Every order of iterations is tried: none has a lower mean completion time than srtf's. */
class ShortestJobsBruteForceTest {
  private static final int CASES = 300;

  private final long seed = new Random().nextLong();

  @Test
  void srtf_ofUnitIterations_minimisesTheMeanCompletionTime() {
    Random random = new Random(seed);
    for (int i = 0; i < CASES; i++) {
      int[] arrivals = random.ints(4, 0, 8).toArray();
      int[] lengths = random.ints(4, 1, 6).toArray();
      List<SimulatedJob> jobs = new ArrayList<>();
      for (int job = 0; job < arrivals.length; job++) {
        jobs.add(new SimulatedJob("job-" + job, arrivals[job], 1, 1, 0, 1, lengths[job], 1));
      }
      long completion =
          new JobSimulator(RandomJobs.rules("srtf", SwitchCosts.NONE))
              .run(jobs).records().stream().mapToLong(JobRecord::endedNanos).sum();

      assertEquals(
          new Best(arrivals).ends(0, lengths),
          completion,
          () -> "seed " + seed + ": " + Arrays.toString(arrivals) + Arrays.toString(lengths));
    }
  }

  /** The least sum of ends, by trying everything. */
  private static final class Best {
    private final int[] arrivals;
    private final Map<List<Integer>, Long> known = new HashMap<>();

    Best(int[] arrivals) {
      this.arrivals = arrivals;
    }

    long ends(int now, int[] left) {
      List<Integer> state = new ArrayList<>(List.of(now));
      Arrays.stream(left).forEach(state::add);
      Long found = known.get(state);
      if (found != null) {
        return found;
      }
      long least = Long.MAX_VALUE;
      boolean isDone = true;
      boolean isIdle = true;
      for (int job = 0; job < left.length; job++) {
        isDone &= left[job] == 0;
        if (left[job] > 0 && arrivals[job] <= now) {
          isIdle = false;
          int[] after = left.clone();
          after[job]--;
          long end = after[job] == 0 ? now + 1 : 0;
          least = Math.min(least, end + ends(now + 1, after));
        }
      }
      least = isDone ? 0 : isIdle ? ends(now + 1, left) : least;
      known.put(state, least);
      return least;
    }
  }
}
