package io.pipelane.server.ensemble;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.ensemble.EnsemblePlan.Member;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceService.Hold;
import java.util.ArrayList;
import java.util.List;

/**
 * The steps that a request needs of an ensemble, whose models answer it although they leave service
 * before their turn.
 *
 * @param holds of the members' models, in the same order
 */
record HeldSteps(List<Member> members, List<Hold> holds) implements AutoCloseable {
  /**
   * Holds the models, but for offline requests: those that wait are refused where a model leaves.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when one is not registered; none is held then
   */
  static HeldSteps of(EnsemblePlan plan, InferenceRequest request, InferenceService models) {
    HeldSteps steps =
        new HeldSteps(
            plan.neededFor(request.outputs(), request.sequence().isPresent()), new ArrayList<>());
    boolean waitsForThem = request.priority() == Priority.ONLINE;
    try {
      for (Member member : steps.members) {
        steps.holds.add(waitsForThem ? models.hold(member.model().version()) : models::submit);
      }
      return steps;
    } catch (StatusException e) {
      steps.close();
      throw steps.named(steps.holds.size(), e);
    }
  }

  /** The same steps where their models are switched in, which take what they are asked at once. */
  HeldSteps in(Hold whole) {
    return new HeldSteps(members, members.stream().map(_ -> whole).toList());
  }

  /** The same error, saying in which step it came, counted from 0. */
  StatusException named(int position, StatusException error) {
    return error.saying(
        "step %d, model %s: %s"
            .formatted(position + 1, members.get(position).model().version(), error.getMessage()));
  }

  /** Lets go of the models. */
  @Override
  public void close() {
    holds.forEach(Hold::close);
  }
}
