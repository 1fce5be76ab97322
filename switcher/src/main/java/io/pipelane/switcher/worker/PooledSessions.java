package io.pipelane.switcher.worker;

import io.pipelane.switcher.memory.Structure;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The sessions that there are, found by key and by structure: hundreds of models are asked after in
 * turn, and none of them is to look at the sessions of all. Guarded by its owner.
 */
final class PooledSessions {
  private final Map<PooledSession.Key, PooledSession> byKey = new HashMap<>();
  private final Map<Structure, List<PooledSession>> byStructure = new HashMap<>();

  @Nullable PooledSession get(PooledSession.Key key) {
    return byKey.get(key);
  }

  /** Takes one whose key no other one has. */
  void add(PooledSession session) {
    byKey.put(session.key, session);
    byStructure
        .computeIfAbsent(session.key.range().structure(), _ -> new ArrayList<>())
        .add(session);
  }

  void remove(PooledSession session) {
    if (byKey.remove(session.key, session)) {
      byStructure.computeIfPresent(
          session.key.range().structure(),
          (_, sessions) -> {
            sessions.remove(session);
            return sessions.isEmpty() ? null : sessions;
          });
    }
  }

  /** All that there are, as they change. */
  Collection<PooledSession> all() {
    return Collections.unmodifiableCollection(byKey.values());
  }

  /** A structure's sessions at this moment. */
  List<PooledSession> of(Structure structure) {
    return List.copyOf(byStructure.getOrDefault(structure, List.of()));
  }
}
