package io.pipelane.switcher;

import io.pipelane.lanes.execution.InputTensor;
import java.util.List;

/**
 * Which sequence a request is a step of, for models that keep state from one request to the next.
 *
 * @param id the client's name for it, among those of one model version
 * @param start whether the state begins anew with this step
 * @param end whether the state goes after it
 * @param initial what the state begins with, by the names of the inputs; what is missing begins
 *     with zeros. Valid until the request has ended
 */
public record SequenceStep(String id, boolean start, boolean end, List<InputTensor> initial) {
  public SequenceStep {
    initial = List.copyOf(initial);
  }

  /** The same of a sequence with another name. */
  public SequenceStep named(String name) {
    return new SequenceStep(name, start, end, initial);
  }

  /** A step of a sequence that begins with zeros. */
  public SequenceStep(String id, boolean start, boolean end) {
    this(id, start, end, List.of());
  }
}
