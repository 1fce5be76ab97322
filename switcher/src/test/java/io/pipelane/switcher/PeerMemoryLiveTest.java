package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.placement.SwitcherGroup;
import io.pipelane.switcher.residency.ResidencySettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two devices behind slow links: one has too little memory for its models, the other too much. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PeerMemoryLiveTest {
  private static final int WIDTH = 64;
  private static final int LAYERS = 8;
  private static final long PAGE = 16 << 10;
  private static final long WEIGHTS = (long) LAYERS * WIDTH * WIDTH * Float.BYTES;
  private static final long MEMORY = 3 * WEIGHTS / 2;

  @TempDir Path folder;

  @Test
  void modelsThatDoNotFit_comeInFromTheIdleDevice() throws IOException {
    CpuRuntime runtime = new CpuRuntime(TestDevices.library());
    List<CpuDevice> devices = new ArrayList<>();
    Map<String, Switcher> switchers = new LinkedHashMap<>();
    for (String name : List.of("cpu:0", "cpu:1")) {
      CpuDevice device =
          CpuDevice.open(
              name, new ByteSize(MEMORY), new ByteSize(PAGE), Bandwidth.parse("500MB/s"));
      DeviceMemory memory = new DeviceMemory(device.persistent());
      SwitcherSettings settings =
          SwitcherSettings.of(MEMORY, 64 << 20, 1, 1000, 64 << 20, new EqualBytesGrouping(8, 1))
              .withResidency(
                  new ResidencySettings(
                      PipelaneConfig.defaults().residency(),
                      SegmentProfiles.inMemory(),
                      Optional.of(new PipelineCosts(LinkModel.line(0, 5e8), 0, 0))));
      devices.add(device);
      switchers.put(
          name,
          new Switcher(
              device, memory, runtime.sessions(device, memory, 1), settings, ReadWeights::of));
    }
    readEachOther(devices, List.copyOf(switchers.values()));
    List<ImportedModel> busy = new ArrayList<>();
    try (SwitcherGroup group =
        new SwitcherGroup(
            switchers,
            new PlacementConfig(
                Routing.PREDICTED, false, Duration.ofSeconds(30), true, 0, Duration.ZERO),
            2,
            System::nanoTime)) {
      for (int i = 0; i < 4; i++) {
        ImportedModel model = TestImports.of(TestModels.chain(LAYERS, WIDTH, i), "m" + i, folder);
        group.register(model, ModelOptions.DEFAULT);
        if (group.devices(model.version()).getFirst().equals("cpu:0")) {
          busy.add(model);
        }
      }
      assertEquals(2, busy.size());
      List<float[]> answers = busy.stream().map(model -> infer(group, model)).toList();
      Switcher crowded = switchers.values().iterator().next();
      while (crowded.transfers().bytesFromPeers() < 3 * WEIGHTS) {
        for (int i = 0; i < busy.size(); i++) {
          assertArrayEquals(answers.get(i), infer(group, busy.get(i)));
        }
      }
    }
    for (Switcher switcher : switchers.values()) {
      switcher.verify();
      switcher.close();
    }
    for (CpuDevice device : devices) {
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
    runtime.close();
  }

  private static void readEachOther(List<CpuDevice> devices, List<Switcher> switchers) {
    for (int i = 0; i < 2; i++) {
      switchers
          .get(i)
          .peers()
          .readFrom(
              switchers.get(1 - i).peers(),
              devices.get(i).readsPagesOf(devices.get(1 - i)).orElseThrow());
    }
  }

  private static float[] infer(SwitcherGroup group, ImportedModel model) {
    float[] x = new float[WIDTH];
    x[3] = 1;
    Call call = new Call();
    group.submit(Call.request(model.version(), x), call);
    return call.await();
  }
}
