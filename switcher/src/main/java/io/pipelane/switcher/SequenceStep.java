package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import java.util.List;

/**
 * The step of a sequence that a request is, for models that keep state from one request to the
 * next.
 *
 * @param owner whose sequence it is: each owner's are his own, whatever others call theirs; empty
 *     where nobody is told from others
 * @param id the client's name for it, among those of its owner and one model version
 * @param start whether the state begins anew with this step
 * @param end whether the state goes after it
 * @param initial what the state begins with, by the names of the inputs; what is missing begins
 *     with zeros. Valid until the request has ended
 */
public record SequenceStep(
    String owner, String id, boolean start, boolean end, List<InputTensor> initial) {
  public SequenceStep {
    initial = List.copyOf(initial);
  }

  /** A step of nobody's sequence. */
  public SequenceStep(String id, boolean start, boolean end, List<InputTensor> initial) {
    this("", id, start, end, initial);
  }

  /** A step of nobody's sequence, which begins with zeros. */
  public SequenceStep(String id, boolean start, boolean end) {
    this(id, start, end, List.of());
  }

  /**
   * Whether the state goes though the step has failed: nobody sends it again whose client has gone,
   * and one that begins the state anew needs nothing that is there.
   */
  public boolean endsWhereItFails(StatusException error) {
    return end && (start || error.status() == Status.CANCELLED);
  }

  /** The same of an owner's sequence. */
  public SequenceStep of(String owner) {
    return new SequenceStep(owner, id, start, end, initial);
  }

  /** The same with another beginning. */
  public SequenceStep from(List<InputTensor> initial) {
    return new SequenceStep(owner, id, start, end, initial);
  }
}
