package io.pipelane.switcher.schedule.run;

import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.worker.Worker;
import io.pipelane.switcher.working.WorkingMemory;
import java.util.function.LongSupplier;

/**
 * The parts that a request is run with, whichever thread runs it.
 *
 * @param estimates told how long runs take
 * @param daemon has its weights come
 * @param memory the lanes, and what offline runs may have of them
 * @param gate told of what is run; offline runs pass it at each of their gates
 */
public record RunParts(
    RequestQueue queue,
    Estimates estimates,
    MemoryDaemon daemon,
    WorkingMemory memory,
    Worker worker,
    OfflineGate gate,
    LongSupplier nanoClock) {}
