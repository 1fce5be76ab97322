package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.allocation.ExportedSlots;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.modelstore.Plan;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A session of this process, the addresses that its weights lie at, and what it is charged to.
 *
 * @param builtBytes what its constants took when it was built
 * @param hasRun whether a run has ended
 */
record WorkerSession(
    ModelSession session,
    Plan plan,
    MappedRange range,
    ExportedSlots slots,
    Account constants,
    long builtBytes,
    AtomicBoolean hasRun) {
  /** Device memory that it holds beside the constants that it was built with. */
  long heldBytes() {
    return session.frameworkBytes() + constants.usedBytes() - builtBytes;
  }
}
