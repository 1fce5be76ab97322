package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuSessionFactory;
import io.pipelane.runtime.OrtLibrary;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** A processor whose sessions run in this process, with a lane; after each test nothing is left. */
public abstract class CpuSessionFixture {
  protected static final long MIB = 1 << 20;
  protected static final ByteSize PAGE = new ByteSize(64 << 10);
  protected static final Path LIBRARY =
      OrtLibrary.locate(
          Optional.empty(), Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test"));

  @TempDir protected Path folder;

  protected final CpuDevice device =
      CpuDevice.open(new ByteSize(4 * MIB), PAGE, Bandwidth.UNLIMITED);
  protected final DeviceMemory memory = new DeviceMemory(device.persistent());
  protected final EphemeralRegion region = device.ephemeral(16 * MIB);
  protected final PersistentMemory.Account constants = device.persistent().open("test", 16 * MIB);
  protected final SessionFactory sessions = new CpuSessionFactory(device, LIBRARY, memory, 1);

  protected CpuSessionFixture() {
    memory.add(region);
    region.limit(MIB);
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, region.usedBytes());
    assertEquals(0, device.persistent().usedBytes());
    sessions.close();
    device.close();
  }
}
