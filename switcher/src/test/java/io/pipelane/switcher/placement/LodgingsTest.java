package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.PeerMemory.Missed;
import io.pipelane.switcher.placement.Lodgings.Host;
import io.pipelane.switcher.placement.Lodgings.Wish;
import io.pipelane.switcher.residency.RoomForOthers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** Against every choice of models and places there is, on small cases. */
class LodgingsTest {
  /** What others must save for each nanosecond that own requests lose. */
  private static final double MARGIN = 1.25;

  private static final int MODELS = 5;

  private static Missed missed(int number, long pages, double waitedPerSecond) {
    return new Missed(new ModelVersion("m" + number, 1), pages, waitedPerSecond);
  }

  /** A device with pages of a byte each. */
  private static Host host(double... losses) {
    return new Host(new RoomForOthers(1, 0, losses), Set.of(), Set.of());
  }

  private static void place(List<Missed> all, Host... hosts) {
    Lodgings.place(all.stream().map(missed -> new Wish(missed, List.of(hosts))).toList());
  }

  @Test
  void place_twoThatLoseAsMuch_theSmallerOneGetsThePages() {
    Host host = host(0, 0, 0);
    Missed small = missed(1, 2, 8);
    place(List.of(missed(0, 3, 8), small), host);
    assertEquals(List.of(small), host.held());
  }

  @Test
  void place_ownModelsLoseNearlyAsMuch_keepTheirPages() {
    Host host = host(0, 7);
    place(List.of(missed(0, 2, 8)), host);
    assertEquals(List.of(), host.held());
  }

  @Test
  void place_goesWhereOwnModelsLoseLeast_butStaysWhereItIs() {
    Missed model = missed(0, 2, 8);
    Host busy = host(1, 2);
    Host idle = host(0, 1);
    place(List.of(model), busy, idle);
    assertEquals(List.of(model), idle.held());

    Host having = new Host(new RoomForOthers(1, 0, 1, 2), Set.of(model.version()), Set.of());
    place(List.of(model), having, host(0, 1));
    assertEquals(List.of(model), having.held());
  }

  @Test
  void place_isThereInAnyCase_takesNoRoomThere() {
    Missed model = missed(0, 2, 8);
    Missed other = missed(1, 1, 1);
    Host having = new Host(new RoomForOthers(1, 1), Set.of(), Set.of(model.version()));
    place(List.of(model, other), having, host(5, 5));
    assertEquals(List.of(model, other), having.held());
  }

  @Test
  void place_twoDevicesMissTheSame_isHeldOnceForBoth() {
    Host host = host(0, 0, 0);
    Missed other = missed(1, 1, 1);
    place(List.of(missed(0, 2, 8), missed(0, 2, 5), other), host, host(0));
    assertEquals(List.of(missed(0, 2, 13), other), host.held());
  }

  @Test
  void place_noHostThatItsDeviceReads_nowhere() {
    Lodgings.place(List.of(new Wish(missed(0, 1, 8), List.of())));
    Host host = host();
    place(List.of(missed(0, 1, 8)), host);
    assertEquals(List.of(), host.held());
  }

  @RepeatedTest(200)
  void place_modelsOfOneSize_noChoiceIsBetter() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int size = 1 + random.nextInt(3);
    assertWithinOfTheBest(random, 0, size, size, "seed " + seed);
  }

  @RepeatedTest(200)
  void place_modelsOfAnySize_missTheBestByOneModelADeviceAtMost() {
    long seed = System.nanoTime();
    assertWithinOfTheBest(new Random(seed), 1, 1, 5, "seed " + seed);
  }

  private static void assertWithinOfTheBest(
      Random random, int models, int smallest, int largest, String seed) {
    List<Missed> all = new ArrayList<>();
    for (int i = 0; i < MODELS; i++) {
      int pages = smallest + random.nextInt(largest - smallest + 1);
      all.add(missed(i, pages, random.nextDouble() * pages));
    }
    List<double[]> losses = new ArrayList<>();
    int devices = 1 + random.nextInt(3);
    for (int i = 0; i < devices; i++) {
      losses.add(losses(random));
    }
    List<Host> hosts = losses.stream().map(LodgingsTest::host).toList();
    place(all, hosts.toArray(Host[]::new));

    double reached = 0;
    for (int i = 0; i < hosts.size(); i++) {
      List<Missed> held = hosts.get(i).held();
      reached += gain(held, losses.get(i));
      assertTrue(pages(held) <= losses.get(i).length, seed);
    }
    List<List<Missed>> placed = new ArrayList<>();
    hosts.forEach(_ -> placed.add(new ArrayList<>()));
    double best = best(all, 0, losses, placed);
    double most = all.stream().mapToDouble(Missed::waitedPerSecond).max().orElseThrow();
    double shortage = best - reached;
    assertTrue(
        shortage >= -1e-9 && shortage <= models * hosts.size() * most + 1e-9,
        () -> seed + ": short of the best by " + shortage);
  }

  /** Some idle pages, and some that own requests would miss. */
  private static double[] losses(Random random) {
    double[] losses = new double[random.nextInt(9)];
    Arrays.setAll(losses, page -> Math.max(0, random.nextDouble() - 0.4));
    Arrays.sort(losses);
    return losses;
  }

  private static long pages(List<Missed> held) {
    return held.stream().mapToLong(Missed::weightBytes).sum();
  }

  /** What it is worth to hold models on a device. */
  private static double gain(List<Missed> held, double[] losses) {
    double saved = held.stream().mapToDouble(Missed::waitedPerSecond).sum();
    return saved - MARGIN * Arrays.stream(losses).limit(pages(held)).sum();
  }

  /** The most that any choice is worth of models from a number on, with some placed. */
  private static double best(
      List<Missed> all, int next, List<double[]> losses, List<List<Missed>> placed) {
    if (next == all.size()) {
      double sum = 0;
      for (int i = 0; i < losses.size(); i++) {
        sum += gain(placed.get(i), losses.get(i));
      }
      return sum;
    }
    Missed model = all.get(next);
    double most = best(all, next + 1, losses, placed);
    for (int i = 0; i < losses.size(); i++) {
      List<Missed> held = placed.get(i);
      if (pages(held) + model.weightBytes() <= losses.get(i).length) {
        held.add(model);
        most = Math.max(most, best(all, next + 1, losses, placed));
        held.removeLast();
      }
    }
    return most;
  }
}
