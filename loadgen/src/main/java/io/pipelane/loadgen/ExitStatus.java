package io.pipelane.loadgen;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.Step;
import java.util.Arrays;
import java.util.List;

/** The end of a load test, as the program's exit status tells it. */
public enum ExitStatus {
  OK(
      0,
      "every request was answered well; what the generator itself was late is little of the figures,"
          + " and stands above as a warning where it was often"),
  FOUND(0, "the highest load that holds the limit was found; loads above it may have failed"),
  ERRORS(
      1,
      "answers were errors, the server could not be connected to for a while, or not even the lowest load held the limit that was searched for"),
  UNSTABLE(2, "the last three windows of a load did not agree in throughput and latency"),
  WRONG_OPTION(3, "an option is wrong"),
  BOTTLENECK(
      4,
      "at some load the load generator itself held requests up; figures of that load are not the"
          + " server's"),
  OTHER(99, "something could not be measured; what was measured besides is kept");

  private final int code;
  private final String meaning;

  ExitStatus(int code, String meaning) {
    this.code = code;
    this.meaning = meaning;
  }

  /** The number that the program exits with. */
  public int code() {
    return code;
  }

  /**
   * The status of a number.
   *
   * @throws IllegalArgumentException when there is none
   */
  public static ExitStatus of(int code) {
    return Arrays.stream(values())
        .filter(status -> status.code == code)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no exit status: " + code));
  }

  /**
   * What could not be measured outweighs what was. A search that has found a load is well, whatever
   * became of those it tried in vain, unless it is the generator's own.
   */
  static ExitStatus of(Experiment experiment) {
    if (!experiment.failures().isEmpty() || isUnmeasured(experiment.steps())) {
      return OTHER;
    }
    if (experiment.highest().isEmpty()) {
      return of(experiment.steps());
    }
    if (experiment.isGenerators()) {
      return BOTTLENECK;
    }
    return experiment.highest().getAsDouble() > 0 ? FOUND : ERRORS;
  }

  /** Whether none of the loads that were tried shows anything. */
  private static boolean isUnmeasured(List<Step> steps) {
    return !steps.isEmpty() && steps.stream().noneMatch(Step::isMeasured);
  }

  /** Several servers under the same loads. */
  static ExitStatus ofAll(List<Experiment> experiments) {
    if (experiments.stream().anyMatch(experiment -> !experiment.failures().isEmpty())) {
      return OTHER;
    }
    return of(experiments.stream().flatMap(experiment -> experiment.steps().stream()).toList());
  }

  /**
   * A run without an answer or an error shows nothing. Errors are the server's word, and stay so
   * however late the generator was.
   */
  private static ExitStatus of(List<Step> steps) {
    if (!steps.stream().allMatch(Step::isMeasured)) {
      return OTHER;
    }
    if (steps.stream().anyMatch(step -> !step.isClean())) {
      return ERRORS;
    }
    if (steps.stream().anyMatch(Step::isBottlenecked)) {
      return BOTTLENECK;
    }
    return steps.stream().allMatch(Step::isStable) ? OK : UNSTABLE;
  }

  /** A line for people. */
  @Override
  public String toString() {
    return "exit status " + code + ": " + meaning;
  }
}
