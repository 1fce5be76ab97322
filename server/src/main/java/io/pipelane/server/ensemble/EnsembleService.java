package io.pipelane.server.ensemble;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Answers for ensembles, by asking their models one after another; passes all else on. */
public final class EnsembleService implements InferenceService {
  /** Plans that a request tries, each with versions that have left when it holds them. */
  private static final int MOST_TRIES = 3;

  private final EnsembleCatalog catalog;
  private final InferenceService models;
  private final InferenceStatistics statistics;
  private final TransferBuffers transfers;

  /**
   * @param statistics counts what an ensemble asks of its models, as if it were a client
   * @param transfers hold what one model makes and another takes
   */
  public EnsembleService(
      EnsembleCatalog catalog,
      InferenceService models,
      InferenceStatistics statistics,
      TransferBuffers transfers) {
    this.catalog = catalog;
    this.models = models;
    this.statistics = statistics;
    this.transfers = transfers;
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    Optional<EnsemblePlan> plan = catalog.plan(request.model().model());
    if (plan.isEmpty()) {
      return models.submit(request, handler);
    }
    HeldSteps steps = hold(plan.get(), request, MOST_TRIES);
    try {
      EnsembleRun run =
          new EnsembleRun(steps, request, handler.andThen(steps::close), statistics, transfers);
      run.start();
      return run;
    } catch (RuntimeException | Error e) {
      steps.close();
      throw e;
    }
  }

  /** Holds what answers now, though a version has left since the plan was made. */
  private HeldSteps hold(EnsemblePlan plan, InferenceRequest request, int tries) {
    try {
      return HeldSteps.of(plan, request, models);
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
  public WorkersOverview workers() {
    return models.workers();
  }

  @Override
  public CompletableFuture<Void> recycle(int worker) {
    return models.recycle(worker);
  }
}
