package io.pipelane.server.jobs;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ServedModel;
import java.util.Optional;

/** The version that answers a job, as the catalogue has it by now. */
record JobModel(ModelCatalog catalog, JobSpec spec) {

  /**
   * What answers.
   *
   * @throws StatusException when it is not in service
   */
  ServedModel served() {
    return catalog.resolve(spec.model().model(), Long.toString(spec.model().version()));
  }

  /**
   * What there is to say of a version that is not in service.
   *
   * @param isComing whether it is being imported, or may still be found by the scan
   */
  record Away(String reason, boolean isComing) {}

  /** Why it is not in service, if it is not. */
  Optional<Away> away() {
    boolean isComing = // Asked first, as it may come into service meanwhile.
        !catalog.isReady()
            || catalog.isImporting(spec.model().model(), Long.toString(spec.model().version()));
    try {
      ServedModel _ = served();
      return Optional.empty();
    } catch (StatusException e) {
      return Optional.of(new Away(String.valueOf(e.getMessage()), isComing));
    }
  }

  /** Has its import go before those for which nobody waits, in the job's class. */
  void want() {
    catalog.want(spec.model().model(), Long.toString(spec.model().version()), spec.priority());
  }

  /**
   * Whether it has another content than the job's; of one that has gone nothing says so. Looked at
   * behind items, too: an ensemble's go to the models that it has when they are taken, which is
   * after the content was compared.
   */
  boolean hasOtherContent() {
    try {
      return !spec.mayBeOf(served().content());
    } catch (StatusException e) {
      return false;
    }
  }

  /** What ends a job for which there is another content. */
  StatusException contentHasChanged() {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "the content of %s has changed since the job was submitted; submit it again"
            .formatted(spec.model()));
  }
}
