package io.pipelane.server.access;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Somebody who asks: the holder of a key, or anybody. Safe for any thread. */
public final class Caller {
  /** Who asks a server that knows no keys: may do everything. */
  public static final Caller ANYBODY =
      new Caller(
          "somebody without a key",
          "",
          EnumSet.allOf(Role.class),
          List.of("*"),
          new Allowance("anybody", Allowance.Limits.NONE, () -> 0),
          false);

  private final String name;
  private final String owner;
  private final Set<Role> roles;
  private final List<String> models;
  private final Allowance allowance;
  private final boolean offline;

  /**
   * @param name what messages call it, like {@code key "shop"}
   * @param owner tells it from all others
   * @param models names, which may end with {@code *}
   * @param offline whether all that it asks is offline work
   */
  Caller(
      String name,
      String owner,
      Set<Role> roles,
      List<String> models,
      Allowance allowance,
      boolean offline) {
    this.name = name;
    this.owner = owner;
    this.roles = Set.copyOf(roles);
    this.models = List.copyOf(models);
    this.allowance = allowance;
    this.offline = offline;
  }

  /** What messages call it, like {@code key "shop"}; nothing secret. */
  String name() {
    return name;
  }

  /** The same key with what it has used up so far, where its limits have stayed the same. */
  Caller continuing(Caller before) {
    return before.allowance.limits().equals(allowance.limits())
        ? new Caller(name, owner, roles, models, before.allowance, offline)
        : this;
  }

  /**
   * Checks that the caller may ask for something.
   *
   * @throws StatusException {@link Status#PERMISSION_DENIED} naming the key, the role or the model
   */
  public void check(Demand demand) {
    if (this == ANYBODY) {
      return;
    }
    if (!demand.isPublic() && Collections.disjoint(demand.roles(), roles)) {
      throw new StatusException(
          Status.PERMISSION_DENIED,
          "%s lets %s; this needs %s"
              .formatted(name, listed(roles, " and "), listed(demand.roles(), " or ")));
    }
    if (!demand.model().isEmpty() && !sees(demand.model())) {
      throw new StatusException(
          Status.PERMISSION_DENIED,
          demand.model().equals(Demand.ALL_MODELS)
              ? "%s is not for all models, which this is about".formatted(name)
              : "%s is not for model \"%s\"".formatted(name, demand.model()));
    }
  }

  /** The same of whether the caller may change a model. */
  public void checkManages(String model) {
    check(Demand.of(Role.MANAGE, model));
  }

  private static String listed(Set<Role> roles, String between) {
    return roles.isEmpty()
        ? "do nothing"
        : roles.stream().sorted().map(Role::text).collect(Collectors.joining(between));
  }

  /**
   * Checks that the caller may ask in a class.
   *
   * @throws StatusException {@link Status#PERMISSION_DENIED} naming the key
   */
  public void check(Priority priority) {
    if (offline && priority == Priority.ONLINE) {
      throw new StatusException(
          Status.PERMISSION_DENIED,
          "%s is for offline work; leave \"class\" out, or say offline".formatted(name));
    }
  }

  /**
   * A request in the class that the caller may ask in. Its sequence is the caller's own, whatever
   * others call theirs.
   */
  public InferenceRequest classed(InferenceRequest request) {
    InferenceRequest own =
        this == ANYBODY || request.sequence().isEmpty()
            ? request
            : request.asStep(request.sequence().map(step -> step.of(owner)));
    return offline ? own.offline() : own;
  }

  /** Whether the caller may know of a model. */
  public boolean sees(String model) {
    for (String pattern : models) {
      boolean matches =
          pattern.endsWith("*")
              ? model.startsWith(pattern.substring(0, pattern.length() - 1))
              : model.equals(pattern);
      if (matches) {
        return true;
      }
    }
    return false;
  }

  /**
   * Lets one request begin; {@link #end} must follow.
   *
   * @throws StatusException {@link Status#RATE_LIMITED} when the key has used up what it may
   */
  public void begin() {
    if (this != ANYBODY) {
      allowance.begin();
    }
  }

  /** A request that has begun is answered, or its client has gone. */
  public void end() {
    if (this != ANYBODY) {
      allowance.end();
    }
  }

  /**
   * Counts one more message of a stream that has begun.
   *
   * @throws StatusException {@link Status#RATE_LIMITED} when the key has used up what it may
   */
  public void countMessage() {
    if (this != ANYBODY) {
      allowance.count();
    }
  }
}
