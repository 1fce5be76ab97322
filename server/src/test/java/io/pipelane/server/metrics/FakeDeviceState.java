package io.pipelane.server.metrics;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.device.SharedDevices;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.kept.KeptOverview;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.placement.MemberOverview;
import io.pipelane.switcher.schedule.queue.QueueOverview;
import io.pipelane.switcher.schedule.turn.Preemptions;
import io.pipelane.switcher.sequence.StatesOverview;
import io.pipelane.switcher.sharing.SharingOverview;
import io.pipelane.switcher.worker.RetryOverview;
import java.util.Map;

/** A device of which each count is another number, by which a test knows it again. */
public final class FakeDeviceState {
  private FakeDeviceState() {}

  /** With nothing known of what offline work gets. */
  public static DeviceState of(MemoryOverview memory) {
    return of(memory, SharedDevices.overview(DeviceSample.UNKNOWN, Map.of()), Map.of(), true);
  }

  /**
   * All of it.
   *
   * @param waiting requests, by model
   * @param usable whether the device is not lost
   */
  public static DeviceState of(
      MemoryOverview memory,
      SharingOverview sharing,
      Map<ModelVersion, Integer> waiting,
      boolean usable) {
    return new DeviceState(
        memory,
        new TransferCounters(
            11,
            12,
            13,
            14,
            15,
            2,
            16,
            17,
            18,
            19,
            20,
            21,
            22,
            42,
            43,
            44,
            48,
            new TransferCounters.Offline(1, 2, 3)),
        new QueueOverview(9, 90, waiting, 2, 3, 4, 10, 1),
        6,
        0.25,
        0.5,
        new Preemptions(23, 24, 1_500_000_000, 250_000_000, 26),
        2,
        35,
        new StatesOverview(36, 37, 38),
        new KeptOverview(44, 45, 46, Map.of(KeptOverview.Obstacle.WAITING, 47L)),
        sharing,
        new RetryOverview(51, 52, 53, 54),
        new MemberOverview(
            usable, 5, 2, 3, 40, 41, MemberOverview.Work.NONE, MemberOverview.Work.NONE));
  }
}
