package io.pipelane.server.ensemble;

import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.ensemble.EnsemblePlan.Member;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.KeptByAnotherVersion;
import java.util.Optional;

/**
 * The versions of an ensemble's models that have its sequences where others answer for it by now.
 * Safe for any thread.
 *
 * @param models answer what they are asked
 */
record SequenceKeepers(EnsembleCatalog catalog, InferenceService models) {
  /**
   * The version that has the sequence of a step which another one has refused; empty where it is
   * not to be asked instead: the ensemble names the other, or it takes or makes something else.
   */
  Optional<Member> of(Member asked, StatusException refusal) {
    if (!(refusal.getCause() instanceof KeptByAnotherVersion keeper)
        || asked.step().version().isPresent()) {
      return Optional.empty();
    }
    try {
      ServedModel model = catalog.resolve(asked.step().model(), Long.toString(keeper.version()));
      boolean fits =
          model.inputs().equals(asked.model().inputs())
              && model.outputs().equals(asked.model().outputs());
      return fits ? Optional.of(new Member(asked.step(), model)) : Optional.empty();
    } catch (StatusException e) { // It has left meanwhile.
      return Optional.empty();
    }
  }
}
