package io.pipelane.lanes.execution;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.IoBinding;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A run on its own thread that ends between two gates, before its next node, once nobody wants it
 * any more or it has computed for too long.
 */
public final class EndableRun {
  private EndableRun() {}

  /**
   * Runs what is bound, on the calling thread.
   *
   * @param binding not to be run again where it {@linkplain IoBinding#isEnded has been ended}
   * @param endless ends the run when it takes too long; null where it comes to an end by itself
   * @throws StatusException why it was ended, or has failed
   */
  public static void compute(
      IoBinding binding, TimedGates gates, WeightArrivals weights, @Nullable EndlessRuns endless) {
    AtomicReference<@Nullable StatusException> reason = new AtomicReference<>();
    Consumer<StatusException> end =
        why -> {
          reason.set(why);
          binding.end();
        };
    try (WeightArrivals.Here _ = weights.computesHere(end);
        EndlessRuns.@Nullable Watched _ = endless == null ? null : endless.watch(gates, end)) {
      binding.run(gates);
    } catch (StatusException e) {
      @Nullable StatusException ended = reason.get();
      throw ended == null ? e : ended;
    }
  }
}
