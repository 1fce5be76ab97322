package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.cpu.CpuExport;
import io.pipelane.lanes.cpu.WorkerRange;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.modelstore.Plan;

/** A session of this process, the addresses that its weights lie at, and what it is charged to. */
record WorkerSession(
    ModelSession session, Plan plan, WorkerRange range, CpuExport.Slots slots, Account constants) {}
