package io.pipelane.server.net;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.metrics.Metrics;
import io.pipelane.server.observability.ObservationSettings;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.server.state.StateSource;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.KeptByAnotherVersion;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The services that all front ends share.
 *
 * @param statistics counts the inferences of all front ends
 * @param access says who asks, and what he may
 * @param jobs none where the configuration names no folder for them
 */
public record Backend(
    ModelCatalog catalog,
    InferenceService service,
    InferenceStatistics statistics,
    Metrics metrics,
    StateSource state,
    AccessControl access,
    Optional<Jobs> jobs,
    ObservationSettings observation,
    SharedMemory sharedMemory) {

  /**
   * The version that answers for a name. One that is being imported is waited for, as by an online
   * request: of which class it is may not be known yet.
   *
   * @param version empty where the client gives none, which lets the catalogue pick
   * @throws StatusException as {@link ModelCatalog#resolveForRequest}
   */
  public ServedModel resolve(String name, String version) {
    return catalog.resolveForRequest(name, version, Priority.ONLINE);
  }

  /** The same; null where there is none that answers. */
  public @Nullable ServedModel find(String name, String version) {
    try {
      return resolve(name, version);
    } catch (StatusException e) {
      return null;
    }
  }

  /**
   * Why a version that this host knows does not answer; empty for what it does not know, or
   * answers.
   */
  public String refusal(String name, String version) {
    try {
      ServedModel _ = resolve(name, version);
      return "";
    } catch (StatusException e) {
      boolean isKnown = e.status() != Status.NOT_FOUND || catalog.knows(name, version);
      return isKnown ? String.valueOf(e.getMessage()) : "";
    }
  }

  /** A request that one version is to answer. */
  public interface Answer {
    /** Opens the account of a request that the version is to answer. */
    RequestAccount account(ServedModel model);

    /** Has it traced that no version answers the request. */
    void unanswered(Status reason);

    /**
     * Begins.
     *
     * @param account ended by the answer, unless this throws a StatusException
     * @throws StatusException NOT_FOUND where the version has left
     */
    void begin(ServedModel model, RequestAccount account);
  }

  /**
   * Has the version that answers for a name answer. One that has just left, or whose content was
   * just replaced, is followed by what answers now; one without the request's sequence by the one
   * that has it.
   *
   * @param version empty lets the catalogue pick
   * @param answer called again with the next version where one has left
   * @throws StatusException as {@link ModelCatalog#resolve} and the answer do
   */
  public void answerWith(String name, String version, Answer answer) {
    ServedModel model;
    try {
      model = resolve(name, version);
    } catch (StatusException e) {
      answer.unanswered(e.status());
      throw e;
    }
    RequestAccount account = answer.account(model);
    try {
      answer.begin(model, account);
    } catch (StatusException e) {
      answerBy(following(name, version, model, account, e), answer);
    }
  }

  /**
   * Has a version answer; one that has left is not followed.
   *
   * @throws StatusException as the answer does
   */
  public void answerBy(ServedModel model, Answer answer) {
    RequestAccount account = answer.account(model);
    try {
      answer.begin(model, account);
    } catch (StatusException e) {
      account.failed(e.status());
      throw e;
    }
  }

  /**
   * The version that answers now for one that has just left, or that has the sequence of a request
   * which names no version by its number. The account there is withdrawn then.
   *
   * @param version what was asked for; one that was named is followed by its next edition alone
   * @param left what should have answered
   * @param account of the request there
   * @param refusal why it did not
   * @throws StatusException the refusal where nothing follows, or as {@link ModelCatalog#resolve}
   */
  public ServedModel following(
      String name,
      String version,
      ServedModel left,
      RequestAccount account,
      StatusException refusal) {
    try {
      ServedModel next = next(name, version, left, refusal);
      boolean isNamed = version.equals(Long.toString(left.version().version()));
      boolean isAnother = next.version().version() != left.version().version();
      if (next.version().equals(left.version()) || (isNamed && isAnother)) {
        throw refusal;
      }
      account.withdrawn();
      return next;
    } catch (StatusException e) {
      account.failed(e.status());
      throw e;
    }
  }

  private ServedModel next(String name, String version, ServedModel left, StatusException refusal) {
    if (refusal.getCause() instanceof KeptByAnotherVersion keeper) {
      ServedModel kept = find(name, Long.toString(keeper.version()));
      return kept == null ? left : kept;
    }
    return refusal.status() == Status.NOT_FOUND ? resolve(name, version) : left;
  }

  /**
   * The counters of models.
   *
   * @param name one model's; empty for all
   * @param version one version's; empty for all
   * @throws StatusException as {@link ModelCatalog#resolve}, for a model or version that is named
   *     and has never been asked for
   */
  public List<ModelCounters> statisticsOf(String name, String version) {
    List<ModelCounters> counters =
        (name.isEmpty() ? statistics.all(catalog::versions) : statistics.all())
            .stream()
                .filter(model -> name.isEmpty() || model.version().model().equals(name))
                .filter(
                    model ->
                        version.isEmpty()
                            || Long.toString(model.version().version()).equals(version))
                .toList();
    return counters.isEmpty() && !name.isEmpty()
        ? List.of(statistics.of(resolve(name, version).version()))
        : counters;
  }

  /** Whether requests are taken at all. */
  public boolean isReady() {
    return catalog.isReady() && service.isUsable();
  }
}
