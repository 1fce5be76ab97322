package io.pipelane.switcher.worker;

import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.modelstore.ImportedModel;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A model's sessions inside a worker.
 *
 * <p>The memory daemon orders access: the packed form is built, used and dropped under its grant
 * and leases, never two of these at once.
 */
final class WorkerModel implements AutoCloseable {
  private final ImportedModel model;
  private final long address;
  private final ModelSession gated;
  private volatile @Nullable PackedSession packed;

  WorkerModel(ImportedModel model, long address, ModelSession gated) {
    this.model = model;
    this.address = address;
    this.gated = gated;
  }

  ImportedModel model() {
    return model;
  }

  long address() {
    return address;
  }

  ModelSession gated() {
    return gated;
  }

  ModelSession packed() {
    return Objects.requireNonNull(packed, "there is no packed form").session;
  }

  void pack(PersistentMemory.Account account, ModelSession session) {
    packed = new PackedSession(account, session);
  }

  void unpack() {
    PackedSession dropped = Objects.requireNonNull(packed, "there is no packed form");
    packed = null;
    dropped.session.close();
    dropped.account.close();
  }

  @Override
  public void close() {
    if (packed != null) {
      unpack();
    }
    gated.close();
  }

  private record PackedSession(PersistentMemory.Account account, ModelSession session) {}
}
