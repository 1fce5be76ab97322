package io.pipelane.server.placement;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.metrics.PlacementCounts;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.placement.MemberOverview.Work;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What placement learns of jobs, and keeps. */
class JobProfilesTest {
  private static final ModelVersion HEAVY = new ModelVersion("heavy", 1);
  private static final ModelVersion LIGHT = new ModelVersion("light", 1);
  private static final long MILLI = 1_000_000;

  @TempDir private Path folder;
  private final FakeDevices devices = new FakeDevices("a", "b");

  private JobPlacement open() throws IOException {
    return devices.open(folder.resolve("placement"));
  }

  /** Items of 100 ms, one after another, from now on for a while. */
  private void run(JobPlacement placement, PlacedJob job, int seconds) {
    run(placement, job, 10, seconds);
  }

  /** So many each second. */
  private void run(JobPlacement placement, PlacedJob job, int items, int seconds) {
    for (int second = 0; second < seconds; second++) {
      for (int item = 0; item < items; item++) {
        job.ran(new InferenceTimings(0, 0, 90 * MILLI));
      }
      devices.look(placement);
    }
  }

  @Test
  void newJob_isProfiledOnce_andTheProfileIsKept() throws IOException {
    try (JobPlacement placement = open()) {
      run(placement, FakeDevices.admit(placement, HEAVY), 5);
    }
    List<String> lines = Files.readAllLines(folder.resolve("placement/profiles.tsv"));
    assertEquals(List.of("heavy/1\ttest\t0.9\t0.9\t1.0\t100.0"), lines);
    try (JobPlacement placement = open()) {
      PlacedJob again = FakeDevices.admit(placement, HEAVY);
      assertEquals(100, again.profile.orElseThrow().separateMillis());
      assertEquals(Optional.empty(), FakeDevices.admit(placement, LIGHT).profile);
    }
  }

  /** A device whose multiprocessors do so much, half of the threads of the busy ones being held. */
  private static DeviceSample sample(double utilization, double activity) {
    return new DeviceSample(
        new DeviceSample.Work(
            OptionalDouble.of(utilization),
            OptionalDouble.of(activity),
            OptionalDouble.of(activity / 2),
            OptionalDouble.empty(),
            OptionalLong.empty()),
        DeviceSample.Memory.UNKNOWN,
        DeviceSample.Health.UNKNOWN);
  }

  @Test
  void occupancy_isOfTheBusyMultiprocessors_ofJobsAndOfOnlineWork() throws IOException {
    try (JobPlacement placement = open()) {
      devices.show("a", sample(0.8, 0.4));
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      run(placement, job, 5);
      assertEquals(0.45, job.profile.orElseThrow().activity(), 1e-9);
      assertEquals(0.5, job.profile.orElseThrow().occupancy(), 1e-9);
    }
    OnlineWatch watch = new OnlineWatch();
    DeviceReading reading = devices.reading("a");
    watch.look(reading, 0);
    Work answered = new Work(10, 500 * MILLI);
    watch.look(
        new DeviceReading(
            "a",
            true,
            SharingState.HEALTHY,
            answered,
            reading.offline(),
            sample(0.5, 0.4),
            DeviceReading.WHOLE),
        1_000 * MILLI);
    assertEquals(0.5, watch.profile().occupancy(), 1e-9);
    assertEquals(0.4, watch.profile().activity(), 1e-9);
  }

  @Test
  void profileBesideOnlineWork_isOfTheTimeThatIsLeft() throws IOException {
    try (JobPlacement placement = open()) {
      devices.ask("a", 0.5);
      devices.become("b", SharingState.UNHEALTHY);
      devices.look(placement);
      devices.look(placement);
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      run(placement, job, 5, 6);
      assertEquals(100, job.profile.orElseThrow().separateMillis(), 1e-9);
      assertEquals(0.9, job.profile.orElseThrow().utilization(), 1e-9);
    }
  }

  @Test
  void timeWithoutItsDevice_isNoTimeOfTheJobs() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      run(placement, job, 2);
      devices.become("b", SharingState.UNHEALTHY);
      devices.lose("a");
      devices.look(placement);
      assertFalse(job.settle());
      devices.interval(placement);
      devices.become("b", SharingState.HEALTHY);
      devices.look(placement);
      run(placement, FakeDevices.settled(job), 3);
      assertEquals(100, job.profile.orElseThrow().separateMillis(), 1e-9);
    }
  }

  @Test
  void timeInWhichAJobWaitsOrIsHeld_isNotProfiled() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      run(placement, job, 2);
      job.waits(true);
      run(placement, job, 0, 5);
      job.waits(false);
      devices.look(placement);
      devices.become("a", SharingState.OVERLIMIT);
      run(placement, job, 0, 5);
      devices.become("a", SharingState.HEALTHY);
      devices.look(placement);
      run(placement, job, 2);
      assertEquals(100, job.profile.orElseThrow().separateMillis(), 1e-9);
    }
  }

  @Test
  void itemsOfMoreThanASecond_countWhole() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      for (int item = 0; item < 20; item++) {
        run(placement, job, 0, 2);
        job.ran(new InferenceTimings(0, 0, 2_700 * MILLI));
        devices.look(placement);
      }
      assertEquals(3_000, job.profile.orElseThrow().separateMillis(), 1e-9);
      assertEquals(0.9, job.profile.orElseThrow().utilization(), 1e-9);
    }
  }

  @Test
  void onlineRequestsOfMoreThanASecond_countWhole() throws IOException {
    try (JobPlacement placement = open()) {
      for (int request = 0; request < 20; request++) {
        devices.ask("a", 0);
        devices.look(placement);
        devices.look(placement);
        devices.ask("a", 2.4);
        devices.look(placement);
      }
      PlacementCounts.Device busy = Objects.requireNonNull(placement.counts().devices().get("a"));
      assertEquals(0.8, busy.onlineUtilization(), 0.02);
    }
  }

  @Test
  void filesThatAreDamaged_costWhatTheyHeld_andLieAside() throws IOException {
    Path kept = Files.createDirectories(folder.resolve("placement"));
    byte[] noText = {'x', (byte) 0xff, '\n'};
    for (byte[] damaged : List.of(noText, "no profile\n".getBytes(StandardCharsets.UTF_8))) {
      Files.write(kept.resolve("profiles.tsv"), damaged);
      Files.write(kept.resolve("pairs.tsv"), noText);
      try (JobPlacement placement = open()) {
        assertEquals(0, placement.counts().pairs());
        assertEquals("a", FakeDevices.admit(placement, HEAVY).place().device());
      }
      assertArrayEquals(damaged, Files.readAllBytes(kept.resolve("profiles.tsv.damaged")));
      assertArrayEquals(noText, Files.readAllBytes(kept.resolve("pairs.tsv.damaged")));
    }
  }

  @Test
  void linesThatAreNoPairs_areLeftOut() throws IOException {
    Path kept = Files.createDirectories(folder.resolve("placement"));
    String workloads = "0.5\t0.5\t1\t10\t0.9\t0.9\t1\t100\t1\t";
    List<String> lines =
        List.of("1\t2", "", "x", workloads + "NaN", workloads + "1.5", workloads + "0.5");
    Files.write(kept.resolve("pairs.tsv"), lines);
    try (JobPlacement placement = open()) {
      assertEquals(1, placement.counts().pairs());
    }
  }

  @Test
  void profileThatCannotBeKept_leavesTheMatching() throws IOException {
    try (JobPlacement placement = open()) {
      run(placement, FakeDevices.admit(placement, new ModelVersion("a\tb", 1)), 901);
      assertEquals(1, placement.counts().matchings());
    }
  }

  @Test
  void whatAJobReached_becomesAPair() throws IOException {
    try (JobPlacement placement = open()) {
      PlacedJob job = FakeDevices.admit(placement, HEAVY);
      devices.become("b", SharingState.UNHEALTHY);
      run(placement, job, 900);
      assertEquals(0, placement.counts().pairs(), "it was not there from the beginning");
      devices.ask("a", 0.5);
      run(placement, job, 4, 300);
      devices.share("a", 0.2);
      run(placement, job, 4, 600);
    }
    String[] pair = Files.readString(folder.resolve("placement/pairs.tsv")).strip().split("\t", -1);
    assertEquals(0.5, Double.parseDouble(pair[0]), 1e-9);
    assertEquals(100, Double.parseDouble(pair[7]), 1e-9);
    assertEquals(0.2, Double.parseDouble(pair[8]), "the share that was there for longest");
    assertEquals(0.4, Double.parseDouble(pair[9]), 1e-9);
  }
}
