package io.pipelane.server.http;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Demand;
import io.pipelane.server.access.Role;
import java.util.Set;

/** A port by what is served there. */
enum ServedPort {
  /** Everything, but for management where that has a port of its own. */
  PUBLIC,
  /** Management, and what can be observed; no inference. */
  MANAGEMENT;

  private static final Set<Role> MANAGE_ALONE = Set.of(Role.MANAGE);
  private static final Set<Role> INFER_ALONE = Set.of(Role.INFER);

  /**
   * Checks that something is served here.
   *
   * @throws StatusException {@link Status#NOT_FOUND} naming where it is
   */
  void check(Demand demand, AccessControl access) {
    if (this == PUBLIC
        && access.managementPort().isPresent()
        && demand.roles().equals(MANAGE_ALONE)) {
      throw new StatusException(
          Status.NOT_FOUND, "management is not served at this port; see security.management-port");
    }
    if (this == MANAGEMENT && demand.roles().equals(INFER_ALONE)) {
      throw new StatusException(
          Status.NOT_FOUND, "inference is not served at this port; see server.http-port");
    }
  }
}
