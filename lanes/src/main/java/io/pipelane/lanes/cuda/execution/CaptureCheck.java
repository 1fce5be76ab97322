package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.execution.HeldAnswer.Output;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.WeightArrivals;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The check that a captured form answers as the uncaptured one does, on two different requests.
 * What a capture has frozen of the first request shows with the second.
 */
final class CaptureCheck {
  private final RunForm uncaptured;
  private final List<String> outputs;

  /**
   * A check for one session.
   *
   * @param outputs all that the model has
   */
  CaptureCheck(RunForm uncaptured, List<String> outputs) {
    this.uncaptured = uncaptured;
    this.outputs = outputs;
  }

  /** Two requests of the same shapes and their right answers. */
  record Cases(List<List<InputTensor>> requests, List<Map<String, Output>> answers) {}

  /**
   * Runs a request, and another made of it, uncaptured; that also prepares the capture.
   *
   * @return empty when the request is such that no other can be made of it
   */
  Optional<Cases> prepare(List<InputTensor> inputs, MemoryTarget.Growth growth, Arena arena) {
    return OtherInputs.of(inputs, arena)
        .map(
            others -> {
              List<List<InputTensor>> requests = List.of(others, inputs);
              RunTimes unused = new RunTimes();
              List<Map<String, Output>> answers = new ArrayList<>();
              for (List<InputTensor> request : requests) {
                answers.add(answer(uncaptured, request, growth, unused, arena));
              }
              return new Cases(requests, answers);
            });
  }

  /**
   * Runs both requests in a captured form.
   *
   * @param times are noted here
   * @throws StatusException when an answer differs
   */
  void verify(
      RunForm captured, Cases cases, MemoryTarget.Growth growth, RunTimes times, Arena arena) {
    for (int i = 0; i < cases.requests().size(); i++) {
      Map<String, Output> actual = answer(captured, cases.requests().get(i), growth, times, arena);
      Optional<String> difference = AnswerComparison.difference(cases.answers().get(i), actual);
      if (difference.isPresent()) {
        throw new StatusException(
            Status.UNIMPLEMENTED, "captured, it answers otherwise: " + difference.get());
      }
    }
  }

  private Map<String, Output> answer(
      RunForm form,
      List<InputTensor> inputs,
      MemoryTarget.Growth growth,
      RunTimes times,
      Arena arena) {
    HeldAnswer answer = new HeldAnswer(inputs, outputs, arena);
    form.run(answer, growth, WeightArrivals.PRESENT, times);
    return answer.answer();
  }
}
