package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.Switcher;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The registration of models on their homes, and their announcement on all other devices. */
final class GroupRegistration {
  private static final System.Logger LOG = System.getLogger(GroupRegistration.class.getName());

  private final List<Member> members;
  private final HomePlacement homes;

  GroupRegistration(List<Member> members, HomePlacement homes) {
    this.members = members;
    this.homes = homes;
  }

  /**
   * Makes a model known; blocks.
   *
   * @param atHome registers it
   * @param place the only device that may be its home; null for any
   * @return the devices that know it, its home first
   * @throws StatusException as the registration at home does; no device knows it then
   */
  List<Integer> register(
      ImportedModel model,
      ModelOptions options,
      Consumer<Switcher> atHome,
      @Nullable Member place) {
    int home = registerAtHome(model, atHome, place);
    List<Integer> registered = new ArrayList<>(List.of(home));
    try {
      for (Member member : members) {
        if (member.index != home && isAnnounced(member, model, options)) {
          registered.add(member.index);
        }
      }
      return registered;
    } catch (RuntimeException | Error e) {
      registered.forEach(device -> deregister(members.get(device), model, e));
      homes.remove(model.version());
      throw e;
    }
  }

  /** Takes a model back for a reason, which is told whatever becomes of that. */
  private static void deregister(Member member, ImportedModel model, Throwable reason) {
    try {
      member.switcher.deregister(model.version());
    } catch (RuntimeException e) {
      reason.addSuppressed(e);
    }
  }

  /**
   * Registers a model on its home: another device where the first is too small for it.
   *
   * @param place the only one that it may be on; null for any
   */
  private int registerAtHome(
      ImportedModel model, Consumer<Switcher> atHome, @Nullable Member place) {
    Set<Integer> tooSmall = new HashSet<>();
    IntPredicate mayBeHome =
        device ->
            members.get(device).isUsable()
                && (place == null || place.index == device)
                && !tooSmall.contains(device);
    while (true) {
      int home = homes.place(model.version(), model.plan().weightBytes(), mayBeHome);
      try {
        atHome.accept(members.get(home).switcher);
        return home;
      } catch (RuntimeException | Error e) {
        homes.remove(model.version());
        tooSmall.add(home);
        boolean fitsElsewhere =
            e instanceof StatusException refusal
                && refusal.status() == Status.INSUFFICIENT_MEMORY
                && IntStream.range(0, members.size()).anyMatch(mayBeHome);
        if (!fitsElsewhere) {
          throw e;
        }
      }
    }
  }

  /**
   * Announces a model, unless the device is too small: others have it then. One that is lost may be
   * usable again, and is to know it then.
   */
  private static boolean isAnnounced(Member member, ImportedModel model, ModelOptions options) {
    try {
      member.switcher.announce(model, options);
      return true;
    } catch (RuntimeException e) {
      if (!(e instanceof StatusException) && member.isUsable()) {
        throw e;
      }
      LOG.log(Level.INFO, "{0} cannot use {1}: {2}", model.version(), member.name, e.getMessage());
      return false;
    }
  }
}
