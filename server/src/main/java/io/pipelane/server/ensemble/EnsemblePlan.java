package io.pipelane.server.ensemble;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.Ensemble;
import io.pipelane.modelstore.repository.Ensemble.Step;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.catalog.ServedModel;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

/**
 * An ensemble and the versions of models that answer for it at present.
 *
 * @param served what the ensemble looks like to those who ask it: its inputs and outputs are its
 *     models'
 */
record EnsemblePlan(ServedModel served, List<Member> members) {
  /** The version that every ensemble has. */
  static final long VERSION = 1;

  EnsemblePlan {
    members = List.copyOf(members);
  }

  /** A step and the model that takes it. */
  record Member(Step step, ServedModel model) {}

  /**
   * Finds the models and checks that they fit together.
   *
   * @param content the ensemble's
   * @param models finds a step's model
   * @throws StatusException what {@code models} throws, or {@link Status#NOT_FOUND} when they do
   *     not fit together
   */
  static EnsemblePlan of(
      Ensemble ensemble, EnsembleContent content, Function<Step, ServedModel> models) {
    Derivation derivation = new Derivation();
    for (Step step : ensemble.steps()) {
      derivation.add(new Member(step, models.apply(step)));
    }
    return derivation.plan(ensemble, content);
  }

  /** The versions that answer, in the order of the steps. */
  List<ModelVersion> models() {
    return members.stream().map(member -> member.model().version()).toList();
  }

  /** Whether its models are switched as one, on devices of their own. */
  boolean spansDevices() {
    return members.getFirst().step().device().isPresent();
  }

  /**
   * Which members are needed for some outputs, in their order; all of them for none.
   *
   * @param ofSequence whether those are needed, too, that keep state: a later request depends on it
   */
  List<Member> neededFor(List<String> outputs, boolean ofSequence) {
    if (outputs.isEmpty()) {
      return members;
    }
    Set<String> wanted = new HashSet<>(outputs);
    List<Member> needed = new ArrayList<>();
    for (Member member : members.reversed()) {
      if ((ofSequence && member.model.keepsState())
          || member.step.outputs().values().stream().anyMatch(wanted::contains)) {
        wanted.addAll(member.step.inputs().values());
        needed.addFirst(member);
      }
    }
    return needed;
  }

  /** The derivation of a plan: goes through the steps and notes every tensor. */
  private static final class Derivation {
    private final List<Member> members = new ArrayList<>();
    private final Map<String, TensorSpec> inputs = new LinkedHashMap<>();
    private final Map<String, TensorSpec> made = new LinkedHashMap<>();
    private final Set<String> taken = new HashSet<>();

    void add(Member member) {
      members.add(member);
      Step step = member.step;
      checkNames("input", step.inputs().keySet(), member.model.inputs());
      checkNames("output", step.outputs().keySet(), member.model.outputs());
      for (TensorSpec input : member.model.inputs()) {
        String tensor = step.inputs().get(input.name());
        if (tensor == null) {
          throw problem("is given no input \"%s\"".formatted(input.name()));
        }
        if (made.containsKey(tensor)) {
          combined(tensor, made.get(tensor), input);
          taken.add(tensor);
        } else {
          TensorSpec named = new TensorSpec(tensor, input.type(), input.shape());
          inputs.merge(tensor, named, (before, also) -> combined(tensor, before, also));
        }
      }
      for (TensorSpec output : member.model.outputs()) {
        String tensor = step.outputs().get(output.name());
        if (tensor != null) {
          made.put(tensor, new TensorSpec(tensor, output.type(), output.shape()));
        }
      }
    }

    private void checkNames(String kind, Set<String> names, List<TensorSpec> declared) {
      for (String name : names) {
        if (declared.stream().noneMatch(spec -> spec.name().equals(name))) {
          throw problem(
              "has no %s \"%s\"; it has %s"
                  .formatted(kind, name, declared.stream().map(TensorSpec::name).toList()));
        }
      }
    }

    /** What suits both of two declarations. */
    private TensorSpec combined(String tensor, TensorSpec one, TensorSpec other) {
      long[] dimensions = one.shape().toArray();
      boolean fits = one.type() == other.type() && one.shape().rank() == other.shape().rank();
      for (int axis = 0; fits && axis < dimensions.length; axis++) {
        long also = other.shape().dimension(axis);
        fits = dimensions[axis] < 0 || also < 0 || dimensions[axis] == also;
        dimensions[axis] = Math.max(dimensions[axis], also);
      }
      if (!fits) {
        throw problem(
            "takes tensor \"%s\" as %s %s, which is %s %s"
                .formatted(tensor, other.type(), other.shape(), one.type(), one.shape()));
      }
      return new TensorSpec(tensor, one.type(), Shape.of(dimensions));
    }

    EnsemblePlan plan(Ensemble ensemble, EnsembleContent content) {
      List<TensorSpec> given = List.copyOf(inputs.values());
      List<TensorSpec> outputs = outputs(ensemble.outputs());
      try {
        ensemble.declared().check(given, outputs);
      } catch (StatusException e) { // Of what its models are at present.
        throw new StatusException(Status.NOT_FOUND, String.valueOf(e.getMessage()), e);
      }
      ServedModel served =
          new ServedModel(
              new ModelVersion(ensemble.name(), VERSION),
              List.of(VERSION),
              ensemble.declared().inputs(given),
              ensemble.declared().outputs(outputs),
              ensemble.options(),
              members.stream().anyMatch(member -> member.model.keepsState()),
              content.of(members));
      return new EnsemblePlan(served, members);
    }

    /** Those that the owner has named, or all that nobody takes. */
    private List<TensorSpec> outputs(List<String> named) {
      return named.isEmpty()
          ? made.values().stream().filter(spec -> !taken.contains(spec.name())).toList()
          : named.stream().map(name -> Objects.requireNonNull(made.get(name))).toList();
    }

    private StatusException problem(String reason) {
      return new StatusException(
          Status.NOT_FOUND,
          "step %d, model %s, %s"
              .formatted(members.size(), members.getLast().model.version(), reason));
    }
  }
}
