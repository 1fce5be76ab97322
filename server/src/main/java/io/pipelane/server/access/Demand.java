package io.pipelane.server.access;

import java.util.EnumSet;
import java.util.Set;

/**
 * The permission that a caller needs to be answered.
 *
 * @param roles one of them is needed; empty for what everybody is told, without a key
 * @param model the model that it is about; empty for none, or for those that the caller may see
 */
public record Demand(Set<Role> roles, String model) {
  /** The model of what is about all of them. */
  public static final String ALL_MODELS = "*";

  /** What everybody may ask, without a key. */
  public static final Demand NONE = new Demand(Set.of(), "");

  public Demand {
    roles = Set.copyOf(roles);
  }

  /** One role's own. */
  public static Demand of(Role role, String model) {
    return new Demand(Set.of(role), model);
  }

  /** What is told to whoever looks after models, or changes them. */
  public static Demand ofObserver(String model) {
    return new Demand(Set.of(Role.OBSERVE, Role.MANAGE), model);
  }

  /** What every key may ask. */
  public static Demand ofAny(String model) {
    return new Demand(EnumSet.allOf(Role.class), model);
  }

  /** Whether it is answered without a key. */
  public boolean isPublic() {
    return roles.isEmpty();
  }
}
