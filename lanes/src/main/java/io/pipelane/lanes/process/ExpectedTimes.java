package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.InputTensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The expected times of one session's runs, by their input shapes: a large batch is not to be
 * judged by small ones. Safe for any thread.
 */
final class ExpectedTimes {
  /** Shapes that are kept; of one that is pushed out by others nothing is known any more. */
  static final int MOST = 64;

  private final Map<List<InputShape>, ExpectedTime> times = new LinkedHashMap<>(16, 0.75f, true);
  private List<InputShape> latest = List.of();
  private ExpectedTime latestTime = new ExpectedTime();

  /** How long runs take that are asked with such inputs. */
  synchronized ExpectedTime of(List<InputTensor> inputs) {
    if (!InputShape.areOf(latest, inputs)) {
      latest = InputShape.of(inputs);
      latestTime = times.computeIfAbsent(latest, _ -> new ExpectedTime());
      if (times.size() > MOST) {
        times.remove(times.keySet().iterator().next());
      }
    }
    return latestTime;
  }
}
