package io.pipelane.switcher;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One inference, decoded and checked against the model's declaration.
 *
 * @param inputs in the order of the model's declaration, all present
 * @param outputs names of the outputs wanted, in the order wanted
 * @param deadline when nobody waits for the answer any more
 * @param priority the class that it waits in: offline ones take what online ones leave, and give
 *     way to those
 * @param sequence what it is a step of; heeded by models that keep state
 * @param job what it is an item of, for policies that go by jobs; none for a request by itself
 * @param place where it runs, and what of it stays there
 */
public record InferenceRequest(
    ModelVersion model,
    List<InputTensor> inputs,
    List<String> outputs,
    Deadline deadline,
    Priority priority,
    Optional<SequenceStep> sequence,
    Optional<JobWork> job,
    RunPlace place) {
  public InferenceRequest {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** A request with its caller's own time, for whichever device is best. */
  public InferenceRequest(
      ModelVersion model,
      List<InputTensor> inputs,
      List<String> outputs,
      OptionalLong deadlineNanos,
      Priority priority,
      Optional<SequenceStep> sequence) {
    this(
        model,
        inputs,
        outputs,
        new Deadline(deadlineNanos, false),
        priority,
        sequence,
        Optional.empty(),
        RunPlace.ANY);
  }

  /** A request of no sequence. */
  public InferenceRequest(
      ModelVersion model,
      List<InputTensor> inputs,
      List<String> outputs,
      OptionalLong deadlineNanos,
      Priority priority) {
    this(model, inputs, outputs, deadlineNanos, priority, Optional.empty());
  }

  /** An online request. */
  public InferenceRequest(
      ModelVersion model,
      List<InputTensor> inputs,
      List<String> outputs,
      OptionalLong deadlineNanos) {
    this(model, inputs, outputs, deadlineNanos, Priority.ONLINE);
  }

  /** An online request without a deadline. */
  public InferenceRequest(ModelVersion model, List<InputTensor> inputs, List<String> outputs) {
    this(model, inputs, outputs, OptionalLong.empty(), Priority.ONLINE);
  }

  /** The same as offline work. */
  public InferenceRequest offline() {
    return inClass(Priority.OFFLINE);
  }

  /** The same in a class. */
  public InferenceRequest inClass(Priority other) {
    return new InferenceRequest(model, inputs, outputs, deadline, other, sequence, job, place);
  }

  /** The same for a caller who has been waiting already: his deadline is so much sooner. */
  public InferenceRequest waited(long nanos) {
    if (nanos == 0) {
      return this;
    }
    Deadline sooner = deadline.sooner(nanos);
    return new InferenceRequest(model, inputs, outputs, sooner, priority, sequence, job, place);
  }

  /** The same as a step of something else. */
  public InferenceRequest asStep(Optional<SequenceStep> step) {
    return new InferenceRequest(model, inputs, outputs, deadline, priority, step, job, place);
  }

  /** The same as an item of a job. */
  public InferenceRequest of(JobWork work) {
    return new InferenceRequest(
        model, inputs, outputs, deadline, priority, sequence, Optional.of(work), place);
  }

  /** The same in a lane where a session stands ready, and in no other. */
  public InferenceRequest in(EphemeralRegion only) {
    return at(place.in(only));
  }

  /** The same somewhere else. */
  public InferenceRequest at(RunPlace other) {
    return new InferenceRequest(model, inputs, outputs, deadline, priority, sequence, job, other);
  }

  /** Its deadline's time. */
  public OptionalLong deadlineNanos() {
    return deadline.nanos();
  }

  /** Whether its deadline has passed. */
  public boolean isLate(long nowNanos) {
    return deadlineNanos().isPresent() && nowNanos - deadlineNanos().getAsLong() > 0;
  }

  /** For how long somebody waits for the answer still; as good as for ever without a deadline. */
  public long patienceNanos(long nowNanos) {
    return deadlineNanos().isPresent()
        ? Math.max(0, deadlineNanos().getAsLong() - nowNanos)
        : Long.MAX_VALUE;
  }

  /** Whether inputs lie where runs alone can touch them: it runs there then, and by itself. */
  public boolean isOnDevice() {
    for (InputTensor input : inputs) {
      if (input.onDevice()) {
        return true;
      }
    }
    return false;
  }

  /** Bytes of all inputs. */
  public long inputBytes() {
    long bytes = 0;
    for (InputTensor input : inputs) {
      bytes += input.data().byteSize();
    }
    return bytes;
  }
}
