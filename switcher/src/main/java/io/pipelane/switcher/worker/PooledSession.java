package io.pipelane.switcher.worker;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.residency.Usage;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A session in the pool, or one that is being built; guarded by the pool's lock. */
final class PooledSession {
  final Key key;
  final Usage usage;

  /** Runs under way, the building of it included. */
  int runs;

  /** What is reserved for it. */
  long bytes;

  /** Whether it has run what nobody had asked for. */
  boolean hasRunAhead;

  /** What building it took. */
  long buildNanos;

  private volatile @Nullable ModelSession session;
  private @Nullable Account account;

  /**
   * The identity of a session: one range of addresses, and one lane where sessions are bound to
   * lanes.
   */
  record Key(StructureRange range, @Nullable EphemeralRegion lane) {}

  PooledSession(Key key, Usage usage) {
    this.key = key;
    this.usage = usage;
  }

  void built(ModelSession built, Account charged, long nanos) {
    session = built;
    account = charged;
    buildNanos = nanos;
  }

  boolean isBuilt() {
    return session != null;
  }

  /** Whether it may be closed, and closing it frees something. */
  boolean canGo() {
    return isBuilt() && runs == 0 && bytes > 0;
  }

  /** Whether nobody has asked for it since it was built. */
  boolean isUnasked(long nowNanos) {
    return usage.at(nowNanos) == 0;
  }

  /** The session itself; stays while a run is under way. */
  ModelSession session() {
    return Objects.requireNonNull(session, "the session is not built");
  }

  /** What the session takes by its own account and by that of its constants. */
  long deviceBytes() {
    return Objects.requireNonNull(account).usedBytes() + session().frameworkBytes();
  }

  /** What libraries hold for it; nothing before it is built. */
  long frameworkBytes() {
    ModelSession built = session;
    return built == null ? 0 : built.frameworkBytes();
  }

  /** What losing it costs for each byte won: time to build it × likelihood of the next use. */
  double value(long nowNanos) {
    return buildNanos * usage.at(nowNanos) / bytes;
  }

  /** Gives back what it can do without. */
  void shrink() {
    session().shrink();
  }

  void close() {
    try {
      session().close();
    } finally {
      Objects.requireNonNull(account).close();
    }
  }
}
