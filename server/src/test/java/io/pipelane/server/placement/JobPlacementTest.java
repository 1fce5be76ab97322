package io.pipelane.server.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.placement.JobPlace.By;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class JobPlacementTest {
  private static final ModelVersion HEAVY = new ModelVersion("heavy", 1);
  private static final ModelVersion LIGHT = new ModelVersion("light", 1);
  private static final long MILLI = 1_000_000;

  @TempDir private Path folder;
  private final FakeDevices devices = new FakeDevices("a", "b");

  private JobPlacement open() throws IOException {
    return devices.open(folder.resolve("placement"));
  }

  private static String device(PlacedJob job) {
    return job.place().device();
  }

  @Test
  void newJob_goesWhereGatesLeaveMost() throws IOException {
    try (JobPlacement placement = open()) {
      devices.ask("a", 0.5);
      devices.look(placement);
      devices.look(placement);
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      assertEquals(new JobPlace("b", By.RULE, 0.96, 0), job.place());
      PlacedJob second = FakeDevices.admit(placement, HEAVY);
      assertEquals("a", device(second));
      assertEquals(0.48, second.place().predicted(), 1e-9);
      assertTrue(placement.admit(HEAVY).isEmpty(), "each device has its job");
      job.leave();
      assertEquals("b", device(FakeDevices.admit(placement, LIGHT)));
    }
  }

  @Test
  void deviceThatIsNotHealthy_getsNoJob() throws IOException {
    for (SharingState state : SharingState.values()) {
      try (JobPlacement placement = open()) {
        devices.become("a", state);
        devices.ask("b", 0.9);
        devices.look(placement);
        devices.look(placement);
        assertEquals(
            state == SharingState.HEALTHY ? "a" : "b", device(FakeDevices.admit(placement, HEAVY)));
        assertEquals(state == SharingState.HEALTHY, placement.admit(HEAVY).isPresent());
        devices.become("a", SharingState.HEALTHY);
      }
    }
  }

  @Test
  void matching_movesAJobWhereItGetsMoreDone_butNotForNoise() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      assertEquals("a", device(job));
      devices.ask("a", 0.01);
      devices.interval(placement);
      assertFalse(job.mustMove(), "a gain of a hundredth is less than a move");
      devices.ask("a", 0.3);
      devices.interval(placement);
      assertTrue(job.mustMove());
      assertEquals("a", device(job), "until it has left");
      assertEquals("b", device(FakeDevices.settled(job)));
      assertEquals(1, job.place().moves());
      assertEquals(1, placement.counts().moves());
    }
  }

  @Test
  void deviceThatHasNoRoomForTheModel_getsNoJobOfIt() throws IOException {
    devices.serve(HEAVY, "a");
    try (JobPlacement placement = open()) {
      devices.ask("a", 0.5); // The other one would be faster.
      devices.look(placement);
      devices.look(placement);
      PlacedJob heavy = FakeDevices.admit(placement, HEAVY);
      assertEquals("a", device(heavy));
      assertTrue(placement.admit(HEAVY).isEmpty(), "it waits, though a device is free");
      devices.interval(placement);
      assertFalse(heavy.mustMove());
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      assertEquals("b", device(light));
      devices.lose("a");
      light.leave();
      devices.look(placement);
      assertTrue(heavy.mustMove());
      assertFalse(heavy.settle(), "no other device has room for it");
      light =
          FakeDevices.admit(
              placement, LIGHT); // Whoever waits for another device is not in the way.
      light.leave();
      devices.serve(HEAVY); // Nobody any more: its requests say so.
      assertEquals("b", device(FakeDevices.settled(heavy)));
    }
  }

  /** As after a restart, when jobs begin before their models are in service. */
  @Test
  void deviceThatTurnsOutToHaveNoRoom_isLeft() throws IOException {
    FakeDevices three = new FakeDevices("a", "b", "c");
    try (JobPlacement placement = three.open(folder.resolve("placement"))) {
      PlacedJob heavy = FakeDevices.admit(placement, HEAVY);
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      assertEquals("a", device(heavy));
      assertEquals("b", device(light));
      three.serve(HEAVY, "b", "c");
      three.look(placement);
      assertEquals("c", device(FakeDevices.settled(heavy)));
      assertFalse(light.mustMove());
      three.serve(HEAVY, "b");
      three.look(placement);
      assertFalse(heavy.mustMove(), "it works where it is until another takes it");
      assertEquals(
          "a", device(FakeDevices.settled(light)), "which it does when this one has made room");
      assertTrue(placement.admit(LIGHT).isEmpty(), "for it alone");
      three.look(placement);
      assertEquals("b", device(FakeDevices.settled(heavy)));
      assertEquals("c", device(FakeDevices.admit(placement, LIGHT)));
      three.look(placement);
      assertFalse(heavy.mustMove() || light.mustMove());
    }
  }

  @Test
  void jobsOfWhichEachIsWhereTheOtherMustBe_changePlacesAtOnce() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob heavy = FakeDevices.admit(placement, HEAVY);
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      assertEquals("a", device(heavy));
      devices.serve(HEAVY, "b");
      devices.serve(LIGHT, "a");
      devices.look(placement);
      assertTrue(heavy.mustMove() && light.mustMove());
      assertFalse(heavy.settle(), "the other has not left");
      assertEquals("a", device(FakeDevices.settled(light)));
      assertEquals("b", device(FakeDevices.settled(heavy)));
      devices.look(placement);
      assertFalse(heavy.mustMove() || light.mustMove());
    }
  }

  @Test
  void jobThatHasLeftForTheOthersPlace_hasItsOwnBackIfThatTurnsUnhealthy() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob heavy = FakeDevices.admit(placement, HEAVY);
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      devices.serve(HEAVY, "b");
      devices.serve(LIGHT, "a");
      devices.look(placement);
      assertFalse(heavy.settle(), "the other has not left");
      devices.become("b", SharingState.UNHEALTHY);
      devices.look(placement);
      assertEquals("a", device(FakeDevices.settled(heavy)));
      assertEquals("b", device(FakeDevices.settled(light)));
      devices.look(placement);
      assertFalse(heavy.mustMove() || light.mustMove());
      devices.become("b", SharingState.HEALTHY);
      devices.look(placement);
      assertFalse(heavy.settle());
      assertEquals("a", device(FakeDevices.settled(light)));
      assertEquals("b", device(FakeDevices.settled(heavy)));
    }
  }

  @Test
  void jobThatHasLeftForTheOthersPlace_hasItsOwnBackIfThatIsLost() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob heavy = FakeDevices.admit(placement, HEAVY);
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      devices.serve(HEAVY, "b");
      devices.serve(LIGHT, "a");
      devices.look(placement);
      assertFalse(heavy.settle(), "the other has not left");
      devices.lose("b");
      devices.look(placement);
      assertEquals("a", device(FakeDevices.settled(heavy)));
      assertTrue(light.mustMove());
      assertFalse(light.settle());
      heavy.leave();
      assertEquals("a", device(FakeDevices.settled(light)));
    }
  }

  /** Nothing is free, and one of them would wait for that. */
  @Test
  void jobThatCouldBeAnywhere_givesItsDeviceForThatOfOneThatCouldNot() throws IOException {
    FakeDevices three = new FakeDevices("a", "b", "c");
    try (JobPlacement placement = three.open(folder.resolve("placement"))) {
      PlacedJob heavy = FakeDevices.admit(placement, HEAVY);
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      PlacedJob second = FakeDevices.admit(placement, HEAVY);
      three.serve(HEAVY, "b", "c");
      three.look(placement);
      assertFalse(second.mustMove());
      assertFalse(light.settle());
      assertEquals("b", device(FakeDevices.settled(heavy)));
      assertEquals("a", device(FakeDevices.settled(light)));
    }
  }

  @Test
  void onlyDeviceForAModel_isLeftToItByAJobThatCouldBeElsewhere() throws IOException {
    devices.serve(HEAVY, "a");
    try (JobPlacement placement = open()) {
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      assertEquals("a", device(light));
      assertTrue(placement.admit(HEAVY).isEmpty());
      assertTrue(light.mustMove());
      assertTrue(placement.admit(HEAVY).isEmpty(), "not before it has left");
      assertEquals("b", device(FakeDevices.settled(light)));
      assertEquals("a", device(FakeDevices.admit(placement, HEAVY)));
      assertTrue(placement.admit(HEAVY).isEmpty());
      devices.look(placement);
      assertFalse(light.mustMove());
    }
  }

  @Test
  void onlyDeviceForTwoModels_isLeftByNeither() throws IOException {
    devices.serve(HEAVY, "a");
    devices.serve(LIGHT, "a");
    try (JobPlacement placement = open()) {
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      assertTrue(placement.admit(HEAVY).isEmpty());
      assertFalse(light.mustMove());
    }
  }

  @Test
  void jobOnADeviceThatIsNotHealthy_goesOnThereAndNobodyComes() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      devices.become("a", SharingState.OVERLIMIT);
      devices.ask("a", 0.9);
      devices.interval(placement);
      assertFalse(job.mustMove());
      PlacedJob other = FakeDevices.admit(placement, HEAVY);
      assertEquals("b", device(other));
      devices.ask("b", 0.9);
      devices.ask("a", 0);
      devices.interval(placement);
      assertFalse(other.mustMove());
    }
  }

  @Test
  void targetThatBecomesUnhealthy_isNotGoneTo() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      devices.ask("a", 0.5);
      devices.interval(placement);
      assertTrue(job.mustMove());
      devices.become("b", SharingState.UNHEALTHY);
      devices.look(placement);
      assertEquals("a", device(FakeDevices.settled(job)));
      assertEquals(0, job.place().moves());
    }
  }

  @Test
  void lostDevice_itsJobGoesElsewhereAtOnce() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      devices.become("b", SharingState.UNHEALTHY);
      devices.lose("a");
      devices.look(placement);
      assertTrue(job.mustMove());
      assertFalse(job.settle(), "none is healthy");
      devices.become("b", SharingState.HEALTHY);
      devices.look(placement);
      assertEquals("b", device(FakeDevices.settled(job)));
    }
  }

  @Test
  void jobThatHasLostItsDevice_comesBeforeNewOnes() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      PlacedJob other = FakeDevices.admit(placement, HEAVY);
      devices.lose("a");
      devices.look(placement);
      assertFalse(job.settle(), "the other one is on b");
      other.leave();
      assertTrue(placement.admit(LIGHT).isEmpty());
      assertEquals("b", device(FakeDevices.settled(job)));
      job.leave();
      assertEquals("b", device(FakeDevices.admit(placement, LIGHT)));
    }
  }

  @Test
  void waitForADevice_isNotWhatAMoveCosts() throws IOException {
    FakeDevices three = new FakeDevices("a", "b", "c");
    try (JobPlacement placement = three.open(folder.resolve("placement"))) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      three.become("b", SharingState.UNHEALTHY);
      three.become("c", SharingState.UNHEALTHY);
      three.lose("a");
      three.look(placement);
      assertFalse(job.settle());
      three.interval(placement);
      three.interval(placement);
      three.become("b", SharingState.HEALTHY);
      three.look(placement);
      assertEquals("b", device(FakeDevices.settled(job)));
      job.ran(new InferenceTimings(0, 0, 90 * MILLI));
      three.become("c", SharingState.HEALTHY);
      three.ask("b", 0.1);
      three.interval(placement);
      assertTrue(job.mustMove());
    }
  }

  @Test
  void moveThatIsHeldUp_countsAQuarterOfTheInterval() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      devices.ask("a", 0.5);
      devices.interval(placement);
      assertEquals("b", device(FakeDevices.settled(job)));
      devices.interval(placement);
      devices.interval(placement);
      job.ran(new InferenceTimings(0, 0, 90 * MILLI));
      devices.ask("a", 0);
      devices.ask("b", 0.5);
      devices.interval(placement);
      assertTrue(job.mustMove());
    }
  }

  @Test
  @Timeout(60)
  void lookThatFails_isNotTheLast() throws Exception {
    CountDownLatch looks = new CountDownLatch(3);
    Supplier<List<DeviceReading>> readings =
        () -> {
          if (looks.getCount() < 3) {
            looks.countDown();
            throw new AssertionError("a fault");
          }
          return List.of(devices.reading("a"));
        };
    PlacementSettings settings = new PlacementSettings(folder, "test", FakeDevices.INTERVAL);
    try (JobPlacement placement =
        JobPlacement.open(settings, readings, _ -> List.of(), System::nanoTime)) {
      looks.countDown();
      placement.start();
      looks.await();
    }
  }

  /** Heavy jobs get nothing done beside busy devices, light ones hardly notice. */
  private void writePairs() throws IOException {
    SplittableRandom random = new SplittableRandom(7);
    List<String> lines = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      double online = 0.1 + 0.6 * random.nextDouble();
      boolean isHeavy = random.nextBoolean();
      double reached = isHeavy ? 1 - 1.2 * online : 1 - 0.3 * online;
      double busy = isHeavy ? 0.9 : 0.3;
      lines.add(
          "%s\t%s\t1\t10\t%s\t%s\t1\t100\t1\t%s".formatted(online, online, busy, busy, reached));
    }
    Files.createDirectories(folder.resolve("placement"));
    Files.write(folder.resolve("placement/pairs.tsv"), lines);
    Files.writeString(
        folder.resolve("placement/profiles.tsv"),
        "heavy/1\ttest\t0.9\t0.9\t1\t100\nlight/1\ttest\t0.3\t0.3\t1\t100\n");
  }

  @Test
  void predictorThatHasLearnt_hasTwoJobsChangePlaces() throws IOException {
    writePairs();
    try (JobPlacement placement = open()) {
      double error = placement.counts().error().orElseThrow();
      assertTrue(error < 0.1, "error " + error);
      PlacedJob heavy = FakeDevices.admit(placement, HEAVY);
      PlacedJob light = FakeDevices.admit(placement, LIGHT);
      assertEquals("a", device(heavy));
      assertEquals("b", device(light));
      assertEquals(By.PREDICTOR, heavy.place().by());
      devices.ask("a", 0.6);
      devices.ask("b", 0.15);
      devices.interval(placement);
      assertTrue(heavy.mustMove() && light.mustMove());
      assertFalse(heavy.settle(), "the light one is there still");
      assertFalse(heavy.settle());
      assertEquals("a", device(FakeDevices.settled(light)));
      assertEquals("b", device(FakeDevices.settled(heavy)));
      assertEquals(0.82, heavy.place().predicted(), 0.1);
      assertTrue(placement.admit(HEAVY).isEmpty());
    }
  }

  /** What offline work gets done depends on the share alone. */
  @Test
  void shareThatADeviceHasChosen_countsInWhatIsPredicted() throws IOException {
    SplittableRandom random = new SplittableRandom(7);
    List<String> lines = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      boolean isSmall = random.nextBoolean();
      lines.add(
          "0.5\t0.5\t1\t10\t0.9\t0.9\t1\t100\t%s\t%s"
              .formatted(isSmall ? 0.2 : 1, isSmall ? 0.9 : 0.4));
    }
    Files.createDirectories(folder.resolve("placement"));
    Files.write(folder.resolve("placement/pairs.tsv"), lines);
    Files.writeString(
        folder.resolve("placement/profiles.tsv"), "heavy/1\ttest\t0.9\t0.9\t1\t100\n");
    try (JobPlacement placement = open()) {
      for (String device : List.of("a", "b")) {
        devices.ask(device, 0.5);
      }
      devices.share("b", 0.2);
      devices.look(placement);
      devices.look(placement);
      PlacedJob heavy = FakeDevices.admit(placement, HEAVY);
      assertEquals("b", device(heavy));
      assertEquals(0.9, heavy.place().predicted(), 0.1);
      devices.share("b", 1);
      devices.share("a", 0.2);
      devices.interval(placement);
      assertTrue(heavy.mustMove());
    }
  }

  private List<String> story(Path into) throws IOException {
    FakeDevices three = new FakeDevices("a", "b", "c");
    SplittableRandom random = new SplittableRandom(3);
    List<String> story = new ArrayList<>();
    try (JobPlacement placement = three.open(into)) {
      List<PlacedJob> jobs = new ArrayList<>();
      for (int interval = 0; interval < 12; interval++) {
        for (String device : List.of("a", "b", "c")) {
          three.ask(device, 0.8 * random.nextDouble());
          three.become(
              device, random.nextInt(8) == 0 ? SharingState.UNHEALTHY : SharingState.HEALTHY);
        }
        three.look(placement);
        if (jobs.size() < 2) {
          placement.admit(interval % 2 == 0 ? HEAVY : LIGHT).ifPresent(jobs::add);
        }
        three.interval(placement);
        for (int turn = 0; turn < jobs.size(); turn++) {
          jobs.forEach(PlacedJob::settle);
        }
        jobs.forEach(job -> story.add(job.workload() + job.place()));
      }
    }
    return story;
  }

  @Test
  void sameReadings_samePlaces() throws IOException {
    List<String> first = story(folder.resolve("1"));
    assertEquals(first, story(folder.resolve("2")));
    assertTrue(first.stream().anyMatch(line -> !line.endsWith("moves=0]")), "nothing moved");
  }
}
