package io.pipelane.loadgen.experiment;

import io.pipelane.loadgen.settings.LoadMode;
import java.util.List;
import java.util.function.DoubleFunction;
import org.jspecify.annotations.Nullable;

/** The loads that an experiment measures. */
public sealed interface LoadPlan {
  /**
   * Loads that are measured one after another.
   *
   * @param limit ends the sweep behind the first load that does not hold it
   */
  record Sweep(List<LoadMode> modes, @Nullable LatencyLimit limit) implements LoadPlan {
    public Sweep {
      modes = List.copyOf(modes);
    }
  }

  /**
   * The highest load of a range that holds a limit.
   *
   * @param mode makes a load of a number of the range
   */
  record Search(LoadRange range, DoubleFunction<LoadMode> mode, LatencyLimit limit)
      implements LoadPlan {}
}
