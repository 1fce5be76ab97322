package io.pipelane.switcher.worker;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The memory of the constants that stay inside sessions: taken from the same working memory as the
 * lanes, under the same safety condition. Safe for any thread.
 */
public final class SessionConstants {
  /** A session may keep a repacked copy beside a constant, and some workspace. */
  private static final int COPIES = 3;

  private static final long WORKSPACE_BYTES = 4L << 20;

  private final PersistentMemory persistent;
  private final Lanes lanes;
  private final Map<ModelVersion, Charge> charges = new HashMap<>();

  public SessionConstants(PersistentMemory persistent, Lanes lanes) {
    this.persistent = persistent;
    this.lanes = lanes;
  }

  /**
   * Builds a session, its constants charged to the model.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there is no room for them
   */
  <T> T charge(ImportedModel model, Function<Account, T> build) {
    long bound = COPIES * model.plan().constantBytes() + WORKSPACE_BYTES;
    if (!lanes.reservePersistent(bound)) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "model "
              + model.version()
              + " keeps up to "
              + new ByteSize(bound)
              + " of constants in its session; device.working-memory, "
              + new ByteSize(lanes.capacityBytes())
              + ", has no room for them beside other models': raise it");
    }
    Account account = persistent.open("constants of " + model.version(), bound);
    boolean built = false;
    try {
      T result = build.apply(account);
      Charge charge = new Charge(account, account.usedBytes());
      account.limit(charge.bytes);
      lanes.releasePersistent(bound - charge.bytes);
      synchronized (charges) {
        charges.put(model.version(), charge);
      }
      built = true;
      return result;
    } finally {
      if (!built) {
        account.close();
        lanes.releasePersistent(bound);
      }
    }
  }

  /** Gives a model's constants back; its session is closed. */
  void release(ModelVersion version) {
    @Nullable Charge charge;
    synchronized (charges) {
      charge = charges.remove(version);
    }
    if (charge != null) {
      charge.account.close();
      lanes.releasePersistent(charge.bytes);
    }
  }

  /** Bytes that all models' sessions keep. */
  public long usedBytes() {
    synchronized (charges) {
      return charges.values().stream().mapToLong(Charge::bytes).sum();
    }
  }

  private record Charge(Account account, long bytes) {}
}
