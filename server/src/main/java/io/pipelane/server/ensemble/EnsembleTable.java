package io.pipelane.server.ensemble;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.Ensemble;
import io.pipelane.server.catalog.IgnoredKeys;
import io.pipelane.switcher.SpanningModels;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The ensembles that are known, by name, in service or not. Those in service that span devices, and
 * no others, are placed there. Safe for any thread; what may place or forget blocks.
 */
final class EnsembleTable {
  private static final System.Logger LOG = System.getLogger(EnsembleTable.class.getName());

  /*
   * What is said of an ensemble is one entry, replaced as a whole: readers take no lock, and an
   * unload takes effect at once. Whoever places or forgets on devices holds this object's monitor,
   * and looks afterwards whether the ensemble is in service still: so beside an unload whichever
   * comes later counts.
   */
  private final SpanningModels spanning;
  private final Map<String, Entered> entries = new ConcurrentHashMap<>();

  /**
   * An ensemble, and whether it is in service.
   *
   * @param content by which it is told from others of its name
   * @param refusal why its models could not be placed where it wants them
   * @param carried whether it came along with a load: until the next one its folder changes nothing
   * @param news what to tell of a later declaration, which is wrong; empty where there is none
   */
  record Entered(
      Ensemble ensemble,
      EnsembleContent content,
      boolean inService,
      boolean carried,
      Optional<StatusException> refusal,
      String news) {
    private Entered outOfService() {
      return new Entered(ensemble, content, false, carried, Optional.empty(), "");
    }

    private Entered refusing(StatusException cause) {
      String told = "its file by now is refused, what it said before holds: " + cause.getMessage();
      return new Entered(ensemble, content, inService, carried, refusal, told);
    }
  }

  /**
   * No ensembles yet.
   *
   * @param spanning told of those that span devices
   */
  EnsembleTable(SpanningModels spanning) {
    this.spanning = spanning;
  }

  /** What is known of an ensemble; null for what is none. */
  @Nullable Entered get(String name) {
    return entries.get(name);
  }

  /** Whether a name is an ensemble's, in service or not. */
  boolean has(String name) {
    return entries.containsKey(name);
  }

  /** All that are known at present. */
  Collection<Entered> all() {
    return Collections.unmodifiableCollection(entries.values());
  }

  /** Puts in service what the repository says of an ensemble. */
  void load(Ensemble ensemble) {
    enter(ensemble, true, false);
  }

  /** Puts in service what came along with a load. */
  void carry(Ensemble ensemble) {
    enter(ensemble, true, true);
  }

  /**
   * Takes over what the repository says by now of an ensemble, which is in service only if it was
   * or is new. Changes nothing where it came along with a load.
   */
  synchronized void follow(Ensemble ensemble) {
    @Nullable Entered earlier = entries.get(ensemble.name());
    if (earlier == null || !earlier.carried) {
      enter(ensemble, false, false);
    }
  }

  private synchronized void enter(Ensemble ensemble, boolean isLoaded, boolean carried) {
    String name = ensemble.name();
    IgnoredKeys.warn(name, ensemble.declared());
    Optional<StatusException> refusal = Optional.empty();
    try {
      if (ensemble.deviceOf().isEmpty()) {
        spanning.forget(name);
      } else {
        spanning.place(name, ensemble.deviceOf());
      }
    } catch (StatusException e) {
      spanning.forget(name); // What an earlier declaration has said.
      refusal = Optional.of(e);
    }
    EnsembleContent content = new EnsembleContent(ensemble.outputs());
    Entered entered = new Entered(ensemble, content, true, carried, refusal, "");
    Entered now =
        entries.compute(
            name,
            (_, before) ->
                isLoaded || before == null || before.inService ? entered : entered.outOfService());
    if (!now.inService) {
      spanning.forget(name);
    }
  }

  /**
   * Has an ensemble stay as it is though what its folder says is refused.
   *
   * @return false when there is none
   */
  boolean refuse(String name, StatusException refusal) {
    boolean isThere =
        entries.computeIfPresent(name, (_, entered) -> entered.refusing(refusal)) != null;
    if (isThere) {
      LOG.log(Level.WARNING, "what has changed of {0} is refused: {1}", name, refusal.getMessage());
    }
    return isThere;
  }

  /**
   * Takes an ensemble out of service, and does not block; {@link #forgetUnlessInService} is still
   * to be called then.
   *
   * @return false when there is none
   */
  boolean takeOutOfService(String name) {
    return entries.computeIfPresent(name, (_, entered) -> entered.outOfService()) != null;
  }

  /** Lets the models be wherever is best again of what is not in service, or is no ensemble. */
  synchronized void forgetUnlessInService(String name) {
    @Nullable Entered now = entries.get(name);
    if (now == null || !now.inService) {
      spanning.forget(name);
    }
  }

  /**
   * Ends a name's ensemble, but not one that was brought along meanwhile.
   *
   * @param before what was there when it was decided
   */
  synchronized void end(String name, @Nullable Entered before) {
    @Nullable Entered now = entries.get(name);
    if (now != null && (now.equals(before) || !now.carried)) {
      entries.remove(name);
      forgetUnlessInService(name);
    }
  }
}
