package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.EqualBytesGrouping;

/** A switcher of a few MiB, two lanes, and runs that take memory in steps of one. */
final class SteppedSwitcher implements AutoCloseable {
  static final long MIB = 1 << 20;
  static final int WEIGHTS_MIB = 4;
  static final int WORKING_MIB = 8;

  private final CpuDevice device =
      CpuDevice.open(new ByteSize(WEIGHTS_MIB * MIB), new ByteSize(MIB), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  final SteppedSessions sessions = new SteppedSessions(memory);
  final Switcher switcher =
      new Switcher(
          device,
          memory,
          sessions,
          SwitcherSettings.of(
              WEIGHTS_MIB * MIB, WORKING_MIB * MIB, 2, 1_000, MIB, new EqualBytesGrouping(8, 1)),
          BoundSessions::weights);

  /** A model of a structure of its own, {@code of NUMBER}. */
  ImportedModel registered(int number, int weightsMib) {
    ImportedModel model =
        BoundSessions.model(Integer.toString(number), "of " + number, weightsMib * MIB);
    switcher.register(model);
    return model;
  }

  Call submit(ImportedModel model) {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), 1), call);
    return call;
  }

  /** The call is answered with what the model's weights hold. */
  static void requireAnswer(ImportedModel model, Call call) {
    float number = BoundSessions.number(model.version());
    assertArrayEquals(new float[] {number, number}, call.await());
  }

  /** Makes sure that everything is given back. */
  @Override
  public void close() {
    switcher.verify();
    assertEquals(0, switcher.memory().weights().lanesBytes(), "lanes have given all back");
    switcher.close();
    assertEquals(device.pages().total(), device.pages().free());
    device.close();
  }
}
