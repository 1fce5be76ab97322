package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.OptimalGrouping;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Models that take turns in one lane, with room on the device for one of them or for both. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SwitchingTest {
  private static final int WIDTH = TestDevices.ON_GPU ? 512 : 64;
  private static final int LAYERS = 4;
  private static final long MODEL_BYTES = (long) LAYERS * WIDTH * WIDTH * Float.BYTES;
  private static final long WORKING = TestDevices.ON_GPU ? 4L << 30 : 64 << 20;
  private static final int SWITCHES = TestDevices.ON_GPU ? 10_000 : 1_000;
  private static final int READINGS = 20;
  private static final int RUNS_PROFILED = 100;
  private static final long SLACK_BYTES = 8L << 20;

  @TempDir Path folder;
  private final Device device = TestDevices.open(2 * MODEL_BYTES, 16 << 10);
  private final FailingDevice failing = new FailingDevice(device);

  @AfterEach
  void close() {
    assertEquals(0, device.persistent().usedBytes());
    assertEquals(device.pages().total(), device.pages().free());
    device.close();
  }

  /** A switcher with one lane. */
  private Switcher open(long weightBytes) {
    return open(weightBytes, new EqualBytesGrouping(4, 1), SegmentProfiles.inMemory());
  }

  private Switcher open(long weightBytes, Grouping grouping, SegmentProfiles profiles) {
    SwitcherSettings settings =
        SwitcherSettings.of(weightBytes, WORKING, 1, 100, 1 << 20, grouping).withProfiles(profiles);
    DeviceMemory memory = new DeviceMemory(device.persistent());
    return new Switcher(
        failing, memory, TestDevices.sessions(device, memory), settings, ReadWeights::of);
  }

  private ImportedModel chain(String name, long seed) throws IOException {
    return TestImports.of(TestModels.chain(LAYERS, WIDTH, seed), name, folder);
  }

  private static float[] infer(Switcher switcher, ImportedModel model) {
    Random random = new Random(model.version().hashCode());
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    Call call = new Call();
    switcher.submit(Call.request(model.version(), x), call);
    return call.await();
  }

  @Test
  void twoModelsInOneLane_interleavedAThousandTimes_answerBitwiseTheSame() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES)) {
      ImportedModel one = chain("one", 1);
      ImportedModel other = chain("other", 2);
      switcher.register(one);
      switcher.register(other);
      float[] expectedOne = infer(switcher, one);
      float[] expectedOther = infer(switcher, other);
      for (int i = 0; i < 1_000; i++) {
        assertArrayEquals(expectedOne, infer(switcher, one), "round " + i);
        assertArrayEquals(expectedOther, infer(switcher, other), "round " + i);
      }
    }
  }

  /** As when another device fails over whose link, or out of whose pages, they come. */
  @Test
  void weightsThatFailOnTheirWay_areSentForOnceMore_andTheRequestIsAnswered() throws Exception {
    try (Switcher switcher = open(MODEL_BYTES)) {
      ImportedModel model = chain("one", 1);
      switcher.register(model);
      float[] expected = infer(switcher, model);
      for (int round = 1; round <= 10; round++) {
        switcher.evict(model.version());
        failing.failArrivals(1);
        assertArrayEquals(expected, infer(switcher, model), "round " + round);
        assertEquals(round, switcher.transfers().failedLoads());
      }
      switcher.evict(model.version());
      failing.failArrivals(Integer.MAX_VALUE);
      assertThrows(StatusException.class, () -> infer(switcher, model));
      failing.failArrivals(0);
      assertArrayEquals(expected, infer(switcher, model));
    }
  }

  @Test
  void groups_onceAModelHasRun_areTheBestByItsProfile() throws Exception {
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    PipelineCosts costs = new PipelineCosts(LinkModel.line(0, 1e6), 0, 0);
    OptimalGrouping grouping = new OptimalGrouping(profiles, costs, new EqualBytesGrouping(1, 1));
    try (Switcher switcher = open(MODEL_BYTES, grouping, profiles)) {
      ImportedModel model = chain("one", 1);
      switcher.register(model);
      float[] expected = infer(switcher, model);
      assertEquals(1, switcher.transfers().copies(), "nothing is known yet");
      for (int i = 0; i < RUNS_PROFILED && grouping.solution(model.plan()).isEmpty(); i++) {
        infer(switcher, model);
      }
      switcher.evict(model.version());
      assertArrayEquals(expected, infer(switcher, model));
      int groups = grouping.solution(model.plan()).orElseThrow().groups(0).size();
      assertEquals(1 + groups, switcher.transfers().copies());
      assertTrue(groups > 1, "on a slow link, copies that cost nothing to begin are many");
    }
  }

  @Test
  void switches_byTheThousand_leaveDeviceAndProcessMemoryFlat() throws Exception {
    try (Switcher switcher = open(MODEL_BYTES)) {
      ImportedModel one = chain("one", 1);
      ImportedModel other = chain("other", 2);
      switcher.register(one);
      switcher.register(other);
      float[] expectedOne = infer(switcher, one);
      float[] expectedOther = infer(switcher, other);
      long deviceBytes = 0;
      List<Long> processBytes = new ArrayList<>();
      for (int i = 0; i < SWITCHES; i++) {
        if (i == SWITCHES / 2) {
          deviceBytes = TestDevices.usedBytes(device);
        }
        if (i >= SWITCHES / 2 && i % (SWITCHES / READINGS) == 0) {
          processBytes.add(residentBytes());
        }
        boolean even = i % 2 == 0;
        assertArrayEquals(
            even ? expectedOne : expectedOther, infer(switcher, even ? one : other), "run " + i);
      }
      assertTrue(switcher.transfers().pagesTakenBack() >= SWITCHES, "each run was cold");
      assertEquals(deviceBytes, TestDevices.usedBytes(device), "device memory");
      processBytes.add(residentBytes());
      assertTrue(trend(processBytes) < SLACK_BYTES, "the process grows: " + processBytes);
      switcher.verify();
    }
  }

  /**
   * Growth over all readings if each step were the lower quartile: compilations of the virtual
   * machine take some MiB now and then, a leak takes its share each time.
   */
  private static long trend(List<Long> readings) {
    long[] steps = new long[readings.size() - 1];
    Arrays.setAll(steps, i -> readings.get(i + 1) - readings.get(i));
    Arrays.sort(steps);
    return steps[steps.length / 4] * steps.length;
  }

  /** Memory of this process that no file backs, after its garbage is collected. */
  private static long residentBytes() throws IOException {
    System.gc();
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("RssAnon:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
        .sum();
  }

  @Test
  void outOfMemory_atAnyStepOfALoad_rollsBackAndTheNextRequestIsAnswered() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES)) {
      ImportedModel model = chain("m", 1);
      switcher.register(model);
      float[] expected = infer(switcher, model);
      switcher.deregister(model.version());
      int failures = 0;
      boolean failed = true;
      for (int call = 1; failed; call++) {
        failing.failCall(call);
        failed = loadFails(switcher, model);
        failing.failCall(0);
        switcher.verify();
        failures += failed ? 1 : 0;
        if (switcher.memory().weights().entries().isEmpty()) {
          switcher.register(model);
        }
        assertArrayEquals(expected, infer(switcher, model), "after a failure of call " + call);
        switcher.deregister(model.version());
        switcher.verify();
        assertEquals(0, switcher.memory().weights().lentBytes());
      }
      assertTrue(failures >= 3, "a load reserves, maps and copies; failed: " + failures);
    }
  }

  private static boolean loadFails(Switcher switcher, ImportedModel model) {
    try {
      switcher.register(model);
      infer(switcher, model);
      return false;
    } catch (StatusException e) {
      assertTrue(e.toString().contains("injected"), e.toString());
      return true;
    }
  }
}
