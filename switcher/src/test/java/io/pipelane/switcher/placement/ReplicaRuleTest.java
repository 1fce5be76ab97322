package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.switcher.placement.ReplicaRule.Change;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ReplicaRuleTest {
  private static final long REST = 1_000;
  private static final double MILLI = 1e6;

  private final ReplicaRule rule = new ReplicaRule(REST);

  private record Seen(
      int index, boolean isUsable, boolean has, double couldSave, double saves, double price)
      implements ReplicaRule.Candidate {}

  private static Seen had(int index, double saves) {
    return new Seen(index, true, true, 0, saves, 0);
  }

  private static Seen other(int index, double couldSave, double price) {
    return new Seen(index, true, false, couldSave, 0, price);
  }

  @Test
  void open_whereItSavesMostBeyondThePrice() {
    List<Seen> devices =
        List.of(
            had(0, 0),
            other(1, 100 * MILLI, 40 * MILLI),
            other(2, 90 * MILLI, 5 * MILLI),
            other(3, 15 * MILLI, 20 * MILLI));
    assertEquals(new Change.Open(2, 80 * MILLI), rule.decide(devices, REST));
    assertEquals(new Change.None(), rule.decide(devices, REST - 1), "it has changed just now");
  }

  @Test
  void open_notForLessThanTwiceThePrice_orNextToNothing() {
    assertEquals(
        new Change.None(),
        rule.decide(List.of(had(0, 0), other(1, 100 * MILLI, 51 * MILLI)), REST));
    assertEquals(new Change.None(), rule.decide(List.of(had(0, 0), other(1, 9 * MILLI, 0)), REST));
  }

  @Test
  void open_neverOnALostDevice() {
    Seen lost = new Seen(1, false, false, 100 * MILLI, 0, 0);
    assertEquals(new Change.None(), rule.decide(List.of(had(0, 0), lost), REST));
  }

  @Test
  void close_whatSavesNextToNothing_theLaterOne() {
    assertEquals(new Change.Close(1), rule.decide(List.of(had(0, 0), had(1, 0)), REST));
    assertEquals(new Change.Close(0), rule.decide(List.of(had(0, MILLI), had(1, 2 * MILLI)), REST));
    assertEquals(
        new Change.None(), rule.decide(List.of(had(0, 2 * MILLI), had(1, 9 * MILLI)), REST));
  }

  @Test
  void close_neverTheOnlyUsableDevice() {
    Seen lost = new Seen(1, false, true, 0, 0, 0);
    assertEquals(new Change.None(), rule.decide(List.of(lost, had(0, 0)), REST));
    assertEquals(new Change.None(), rule.decide(List.of(had(0, 0)), REST));
  }

  /**
   * One model on devices of a lane each, its requests shared evenly (M/M/1 each, cut off at a
   * second): what is waited in a second by all its requests.
   */
  private static double waitNanos(double load, int devices) {
    double share = load / devices;
    double wait = share >= 1 ? 1 : Math.min(1, 0.01 * share / (1 - share));
    return load * 100 * wait * 1e9;
  }

  private static List<Seen> seen(
      List<Integer> has, List<Integer> lost, int count, double load, double price, Random noise) {
    List<Seen> devices = new ArrayList<>();
    List<Integer> order = new ArrayList<>(has);
    for (int device = 0; device < count; device++) {
      if (!has.contains(device)) {
        order.add(device);
      }
    }
    int usable = (int) has.stream().filter(device -> !lost.contains(device)).count();
    double now = waitNanos(load, Math.max(1, usable));
    double couldSave = now - waitNanos(load, Math.max(1, usable) + 1);
    double saves = usable < 2 ? 0 : (waitNanos(load, usable - 1) - now) / usable;
    for (int device : order) {
      double factor = 0.8 + 0.4 * noise.nextDouble();
      boolean mine = has.contains(device);
      devices.add(
          new Seen(
              device,
              !lost.contains(device),
              mine,
              mine ? 0 : factor * couldSave,
              mine ? factor * saves : 0,
              price));
    }
    return devices;
  }

  /** Loads that stay for a while, then change; any device may be lost, but the last. */
  @Test
  void anyLoads_devicesFollowAndRest() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int trial = 0; trial < 300; trial++) {
      int count = 2 + random.nextInt(3);
      double price =
          random.nextInt(4) == 0 ? Double.MAX_VALUE / 4 : random.nextDouble() * 5 * MILLI;
      List<Integer> has = new ArrayList<>(List.of(random.nextInt(count)));
      List<Integer> lost = new ArrayList<>();
      long changed = -REST;
      long now = 0;
      for (int phase = 0; phase < 5; phase++) {
        double load = phase == 4 ? 0 : 1.2 * count * random.nextDouble();
        if (lost.size() < count - 1 && random.nextInt(4) == 0) {
          int device = random.nextInt(count);
          if (!lost.contains(device)) {
            lost.add(device);
          }
          if (lost.containsAll(has)) { // As the router does.
            has.clear();
            for (int other = 0; has.isEmpty(); other++) {
              if (!lost.contains(other)) {
                has.add(other);
              }
            }
          }
        }
        int changes = 0;
        String where = "seed " + seed + " trial " + trial + " phase " + phase + " load " + load;
        for (int step = 0; step < 200; step++, now += REST / 5) {
          Change change = rule.decide(seen(has, lost, count, load, price, random), now - changed);
          if (!(change instanceof Change.None)) {
            assertTrue(now - changed >= REST, where + ": it rests after a change");
            changed = now;
            changes++;
          }
          switch (change) {
            case Change.None _ -> {}
            case Change.Open(int device, double _) -> {
              assertTrue(!has.contains(device) && !lost.contains(device), where);
              assertTrue(price < Double.MAX_VALUE / 8, where + ": at any price");
              has.add(device);
            }
            case Change.Close(int device) -> {
              assertTrue(has.removeIf(other -> other == device) && !lost.contains(device), where);
              assertTrue(has.stream().anyMatch(other -> !lost.contains(other)), where);
            }
          }
        }
        assertTrue(changes < 2 * count, where + ": " + changes + " changes under a steady load");
      }
      assertEquals(
          1,
          has.stream().filter(device -> !lost.contains(device)).count(),
          "seed " + seed + ": without load, one device");
    }
  }
}
