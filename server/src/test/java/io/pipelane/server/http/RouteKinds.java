package io.pipelane.server.http;

import io.pipelane.server.http.message.Route;
import java.util.HashSet;
import java.util.Set;

/** The kinds of routes that there are. */
final class RouteKinds {
  private RouteKinds() {}

  /** Every record among them, in a set of the caller's own. */
  static Set<Class<?>> all() {
    Set<Class<?>> records = new HashSet<>();
    addRecords(Route.class, records);
    return records;
  }

  private static void addRecords(Class<?> kind, Set<Class<?>> records) {
    if (kind.isRecord()) {
      records.add(kind);
      return;
    }
    for (Class<?> narrower : kind.getPermittedSubclasses()) {
      addRecords(narrower, records);
    }
  }
}
