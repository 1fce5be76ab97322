package io.pipelane.server.ensemble;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SpanningModels;
import io.pipelane.switcher.sharing.monitor.SampleRing;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;

/**
 * The service that answers for ensembles, by asking their models one after another; passes all else
 * on.
 */
public final class EnsembleService implements InferenceService {
  /** Plans that a request tries, each with versions that have left when it holds them. */
  private static final int MOST_TRIES = 3;

  /** Requests for ensembles that span devices, which wait on threads and not in a queue. */
  private static final int MOST_SPANNING = 256;

  private final EnsembleCatalog catalog;
  private final InferenceService models;
  private final SpanningModels spanning;
  private final Semaphore bound = new Semaphore(MOST_SPANNING);
  private final InferenceStatistics statistics;
  private final TransferBuffers transfers;

  /**
   * @param spanning switches those in that span devices
   * @param statistics counts what an ensemble asks of its models, as if it were a client
   * @param transfers hold what one model makes and another takes
   */
  public EnsembleService(
      EnsembleCatalog catalog,
      InferenceService models,
      SpanningModels spanning,
      InferenceStatistics statistics,
      TransferBuffers transfers) {
    this.catalog = catalog;
    this.models = models;
    this.spanning = spanning;
    this.statistics = statistics;
    this.transfers = transfers;
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    Optional<EnsemblePlan> plan = catalog.plan(request.model().model());
    if (plan.isEmpty()) {
      return models.submit(request, handler);
    }
    if (plan.get().spansDevices() && request.priority() == Priority.OFFLINE) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "%s spans devices, and is not run as offline work; ask it online"
              .formatted(request.model()));
    }
    Held held = hold(plan.get(), request, MOST_TRIES);
    HeldSteps steps = held.steps;
    try {
      if (held.plan.spansDevices()) {
        return SpanningRun.start(
            () -> spanning.switchIn(request.model().model(), held.plan.models()),
            steps,
            request,
            handler,
            bound,
            (in, end) -> run(in, request, end));
      }
      EnsembleRun run = run(steps, request, handler.andThen(steps::close));
      run.start();
      return run;
    } catch (RuntimeException | Error e) {
      steps.close();
      throw e;
    }
  }

  private EnsembleRun run(HeldSteps steps, InferenceRequest request, ResultHandler end) {
    return new EnsembleRun(
        steps, new SequenceKeepers(catalog, models), request, end, statistics, transfers);
  }

  /** The models that answer a request: its steps, and the plan that they are of. */
  private record Held(EnsemblePlan plan, HeldSteps steps) {}

  /** Holds what answers now, though a version has left since the plan was made. */
  private Held hold(EnsemblePlan plan, InferenceRequest request, int tries) {
    try {
      return new Held(plan, HeldSteps.of(plan, request, models));
    } catch (StatusException e) {
      EnsemblePlan next = catalog.plan(request.model().model()).orElseThrow(() -> e);
      // The same versions may have left and be there again.
      if (e.status() != Status.NOT_FOUND || tries == 1) {
        throw e;
      }
      return hold(next, request, tries - 1);
    }
  }

  @Override
  public Optional<SequenceState> sequence(ModelVersion model, String id) {
    Optional<EnsemblePlan> plan;
    try {
      plan = catalog.plan(model.model());
    } catch (StatusException e) { // Models that have left have taken their states along.
      return Optional.empty();
    }
    return plan.isPresent() ? ChainState.of(plan.get(), id, models) : models.sequence(model, id);
  }

  @Override
  public boolean isUsable() {
    return models.isUsable();
  }

  @Override
  public Map<String, List<SampleRing.Timed>> samples() {
    return models.samples();
  }

  @Override
  public WorkersOverview workers() {
    return models.workers();
  }

  @Override
  public CompletableFuture<Void> recycle(int worker) {
    return models.recycle(worker);
  }
}
