package io.pipelane.switcher.worker;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.Lease;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** A worker that shares the server's process: nothing is copied to it, and a crash takes all. */
public final class InProcessWorker implements Worker {
  private final SessionFactory sessions;
  private final SessionConstants constants;
  private final PersistentMemory persistent;
  private final Map<ModelVersion, WorkerModel> models = new ConcurrentHashMap<>();

  public InProcessWorker(
      SessionFactory sessions, PersistentMemory persistent, SessionConstants constants) {
    this.sessions = sessions;
    this.persistent = persistent;
    this.constants = constants;
  }

  @Override
  public void prepare(ImportedModel model, long address) {
    ModelSession gated =
        constants.charge(
            model,
            account -> sessions.gated(model, address, null, new MemoryTarget.Persistent(account)));
    models.put(model.version(), new WorkerModel(model, address, gated));
  }

  @Override
  public void run(InferenceRequest request, Lease lease, LaneLease lane, ResultHandler handler) {
    WorkerModel model = known(request.model());
    Invocation invocation = new RequestInvocation(request, handler);
    try {
      if (lease.packed()) {
        model.packed().run(invocation, lane.region(), lane::grow, WeightArrivals.PRESENT);
      } else {
        model.gated().run(invocation, lane.region(), lane::grow, lease);
      }
    } catch (StatusException e) {
      boolean runFailed = e.status() == Status.INTERNAL || e.status() == Status.INVALID_ARGUMENT;
      throw runFailed && !lease.failed() ? refused(request, e) : e;
    }
  }

  /**
   * An operator that fails did so on what the request gave it, such as an index out of range: its
   * model was checked, its memory and weights were there.
   */
  private static StatusException refused(InferenceRequest request, StatusException e) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "model " + request.model() + " cannot be run on these inputs: " + e.getMessage(),
        e);
  }

  @Override
  public long pack(ModelVersion version, long maximumBytes) {
    WorkerModel model = known(version);
    PersistentMemory.Account account = persistent.open("packed " + version, maximumBytes);
    try {
      model.pack(
          account,
          sessions.packed(model.model(), model.address(), new MemoryTarget.Persistent(account)));
      account.limit(account.usedBytes());
      return account.usedBytes();
    } catch (OutOfDeviceMemoryException e) {
      account.close();
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "the packed form of " + version + " takes more than " + new ByteSize(maximumBytes),
          e);
    } catch (RuntimeException e) {
      account.close();
      throw e;
    }
  }

  @Override
  public void unpack(ModelVersion version) {
    known(version).unpack();
  }

  @Override
  public void discard(ModelVersion version) {
    WorkerModel model = models.remove(version);
    if (model != null) {
      model.close();
      constants.release(version);
    }
  }

  @Override
  public void close() {
    List.copyOf(models.keySet()).forEach(this::discard);
  }

  private WorkerModel known(ModelVersion version) {
    return Objects.requireNonNull(models.get(version), () -> version + " is not prepared");
  }

  /** A request as a session sees it. */
  private record RequestInvocation(InferenceRequest request, ResultHandler handler)
      implements Invocation {
    @Override
    public List<InputTensor> inputs() {
      return request.inputs();
    }

    @Override
    public List<String> outputs() {
      return request.outputs();
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return handler.place(name, type, shape, byteSize);
    }
  }
}
