package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.schedule.run.Execution;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;

/** A device's part of a model over several, weights and all, until it is closed. */
final class HeldPart implements Hold {
  private final Map<ModelVersion, Lease> leases;
  private final Execution execution;
  private final OnlineWork online;
  private final LongSupplier clock;
  private final AtomicBoolean closed = new AtomicBoolean();

  HeldPart(
      Map<ModelVersion, Lease> leases, Execution execution, OnlineWork online, LongSupplier clock) {
    this.leases = Map.copyOf(leases);
    this.execution = execution;
    this.online = online;
    this.clock = clock;
  }

  /** Runs an online request without the queue: whoever holds the weights is not kept waiting. */
  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    Lease lease = leases.get(request.model());
    if (lease == null) {
      throw new StatusException(Status.NOT_FOUND, "model " + request.model() + " is not held");
    }
    online.arrived(clock.getAsLong());
    ResultHandler told = online.begin(handler);
    try {
      execution.runHeld(request, told, lease);
    } catch (RuntimeException | Error e) {
      online.end();
      throw e;
    }
    return Ticket.ENDED;
  }

  @Override
  public void close() {
    if (!closed.getAndSet(true)) {
      leases.values().forEach(Lease::close);
    }
  }
}
