package io.pipelane.switcher.sharing.gate;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.sharing.trial.ShareTrial;
import java.util.function.LongSupplier;

/**
 * The cost of offline work to online work beside it. Online runs and answers are told here, and
 * passed on to who goes by them. Safe for any thread.
 */
public final class OnlineCost {
  private final OnlineWork online;
  private final OfflineRuns offline;
  private final ShareTrial trial;
  private final Slowdowns slowdowns;
  private final LongSupplier nanoClock;

  /** Nothing is known. The trial keeps to what owners of models allow. */
  OnlineCost(OnlineWork online, OfflineRuns offline, ShareTrial trial, LongSupplier nanoClock) {
    this.online = online;
    this.offline = offline;
    this.trial = trial;
    this.slowdowns = new Slowdowns(nanoClock.getAsLong());
    this.nanoClock = nanoClock;
    trial.keepTo(slowdowns::strictest);
  }

  /** That of models that may only be slowed down so much. */
  public Slowdowns slowdowns() {
    return slowdowns;
  }

  /**
   * A handler that tells the trial of an online request's answer, where it wants to know.
   *
   * @param cameNanos when the request came; it is not in flight yet
   */
  public ResultHandler comparing(InferenceRequest request, ResultHandler handler, long cameNanos) {
    if (!trial.compares()) {
      return handler;
    }
    ComparedAnswer.Kind kind = ComparedAnswer.Kind.of(request, online.count());
    return new ComparedAnswer(handler, trial, offline, kind, cameNanos, offline.mark(), nanoClock);
  }

  /**
   * An online run has ended well that had all its weights.
   *
   * @param besideOffline whether offline work has computed while it did
   */
  public void ran(ModelVersion model, Object kind, long nanos, boolean besideOffline) {
    slowdowns.ran(model, kind, nanos, besideOffline);
    trial.onlineRan(nanos);
  }
}
