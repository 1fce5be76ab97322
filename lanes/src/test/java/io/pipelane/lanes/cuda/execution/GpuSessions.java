package io.pipelane.lanes.cuda.execution;

import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.CudaEphemeralRegion;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.OrtLibrary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** A GPU with one lane, and sessions of small models in it. */
public final class GpuSessions implements AutoCloseable {
  static final long MIB = 1 << 20;
  private static final ByteSize PAGE = ByteSize.ofMebibytes(2);
  private static final Path CACHE = Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test");

  public final CudaDevice device;
  final DeviceMemory memory;
  public final CudaEphemeralRegion region;
  final PersistentMemory.Account constants;
  final CudaSessionFactory factory;

  public GpuSessions(CudaDriver driver, CaptureSettings captures) {
    this(driver, captures, 0);
  }

  /**
   * The same.
   *
   * @param percent of the multiprocessors that the lane keeps to; 0 for a lane like any
   */
  GpuSessions(CudaDriver driver, CaptureSettings captures, int percent) {
    device = CudaDevice.open(driver, 0, ByteSize.ofMebibytes(64), PAGE);
    memory = new DeviceMemory(device.persistent());
    region = lane(percent);
    constants = device.persistent().open("test", 256 * MIB);
    Path library =
        OrtLibrary.locate(Optional.ofNullable(System.getenv("ORT_LIB_DIR")).map(Path::of), CACHE);
    factory =
        new CudaSessionFactory(
            library,
            device,
            memory,
            new ExecutionSettings(true, ExecutionSettings.DEFAULT.cublasWorkspace(), captures));
  }

  /**
   * One more lane.
   *
   * @param percent as the first has it
   */
  CudaEphemeralRegion lane(int percent) {
    CudaEphemeralRegion lane =
        (CudaEphemeralRegion)
            (percent == 0 ? device.ephemeral(256 * MIB) : device.ephemeral(256 * MIB, percent));
    memory.add(lane);
    lane.limit(64 * MIB);
    return lane;
  }

  /** A model in a range of its own, its weights there. */
  Loaded load(ModelProto proto, String name, Path folder) throws IOException {
    return load(TestImports.of(proto, name, folder));
  }

  /** The same, imported; what it reads in place is not shown yet. */
  Loaded load(ImportedModel model) throws IOException {
    return load(model, region);
  }

  /** The same for a lane. */
  Loaded load(ImportedModel model, CudaEphemeralRegion lane) throws IOException {
    AddressRange range =
        device.reserve(Math.max(1, model.plan().weightBytes()), model.plan().inPlaceBytes());
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    BytesSource weights = new BytesSource(Files.readAllBytes(model.weights()));
    if (weights.byteSize() > 0) {
      device.copies().copy(weights, 0, range, 0, weights.byteSize()).await();
    }
    CudaSession session =
        (CudaSession)
            factory.gated(model, range.address(), lane, new MemoryTarget.Persistent(constants));
    return new Loaded(this, model, range, weights, session);
  }

  /** A session, its weights and where they lie. */
  record Loaded(
      GpuSessions gpu,
      ImportedModel model,
      AddressRange range,
      BytesSource weights,
      CudaSession session)
      implements AutoCloseable {
    /** Overwrites the weights, and lets them come back as a run asks for them. */
    LateWeights late(int failing) {
      gpu.device.context().bind();
      gpu.region.stream().fill(range.address(), (byte) 0x7f, model.plan().weightBytes());
      gpu.region.stream().synchronize();
      return new LateWeights(gpu.device, model.plan(), weights, range, failing);
    }

    /** Brings the weights back at once. */
    void restore() {
      gpu.device.copies().copy(weights, 0, range, 0, weights.byteSize()).await();
    }

    @Override
    public void close() {
      session.close();
      gpu.device.context().bind();
      gpu.region.stream().synchronize();
      for (int slot = 0; slot < range.slots(); slot++) {
        gpu.device.pages().giveBack(range.unmap(slot));
      }
      range.close();
    }
  }

  @Override
  public void close() {
    factory.close();
    device.close();
  }
}
