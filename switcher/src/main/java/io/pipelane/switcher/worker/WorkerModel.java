package io.pipelane.switcher.worker;

import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.memory.Structure;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A model as a worker knows it: the structure whose sessions it runs in, and its packed form.
 *
 * <p>The memory daemon orders access: the packed form is built, used and dropped under its grant
 * and leases, never two of these at once.
 */
final class WorkerModel implements AutoCloseable {
  private final ImportedModel model;
  private final Structure structure;
  private volatile @Nullable PackedSession packed;

  WorkerModel(ImportedModel model, Structure structure) {
    this.model = model;
    this.structure = structure;
  }

  ImportedModel model() {
    return model;
  }

  Structure structure() {
    return structure;
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
  }

  private record PackedSession(PersistentMemory.Account account, ModelSession session) {}
}
