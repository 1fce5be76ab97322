package io.pipelane.switcher;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.UnitParts;
import io.pipelane.switcher.residency.Unit;
import io.pipelane.switcher.schedule.run.Execution;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * A device's parts of models that span several devices, which are switched in together or not at
 * all (PipeSwitch §4.5). It brings them in, holds them for runs, and has them leave. Safe for any
 * thread; blocks.
 */
public final class SpanParts {
  private final UnitParts parts;
  private final Execution execution;
  private final OnlineWork online;
  private final LongSupplier clock;

  /** Nothing is held yet. */
  SpanParts(UnitParts parts, Execution execution, OnlineWork online, LongSupplier clock) {
    this.parts = parts;
    this.execution = execution;
    this.online = online;
    this.clock = clock;
  }

  /** Whether this device could have models of a unit; see {@link UnitParts#couldHold}. */
  public boolean couldHold(List<ModelVersion> part) {
    return parts.couldHold(part);
  }

  /** Says what this device has of a unit; see {@link UnitParts#join}. */
  public void join(List<ModelVersion> part, Unit unit) {
    parts.join(part, unit);
  }

  /**
   * Brings in all that this device has of a unit, and holds it; blocks while others hold the room.
   *
   * @throws StatusException as {@link UnitParts#acquire}; {@link #takeOut} follows then
   */
  public Hold switchIn(List<ModelVersion> part) {
    List<Lease> leases;
    try (OnlineWork.MemoryWait wait = online.new MemoryWait()) {
      leases = parts.acquire(part, wait::begin);
    }
    Map<ModelVersion, Lease> byModel = new HashMap<>();
    for (int i = 0; i < part.size(); i++) {
      byModel.put(part.get(i), leases.get(i));
    }
    return new HeldPart(byModel, execution, online, clock);
  }

  /** Has models leave as soon as nothing runs on them; see {@link UnitParts#takeOut}. */
  public void takeOut(List<ModelVersion> part) {
    part.forEach(parts::takeOut);
  }
}
