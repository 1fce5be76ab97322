package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.switcher.memory.StructureRange;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Which sessions give way, in ten MiB of working memory. */
class SessionTableTest extends SessionsFixture {
  private final List<String> closed = new ArrayList<>();
  private String failing = "none";

  private PooledSession.Key key(String name) {
    return new PooledSession.Key(join(model(name)), null);
  }

  /** A session that stands ready, of so many bytes. */
  private PooledSession ready(String name, long bytes) {
    PooledSession session = Objects.requireNonNull(table.begin(key(name)));
    build(session, name, bytes);
    return session;
  }

  /** A session that was asked for. */
  private void asked(String name, long bytes) {
    build(table.take(key(name)), name, bytes);
  }

  private void build(PooledSession session, String name, long bytes) {
    assertTrue(table.rechargeFromFree(session, bytes));
    table.built(session, new Closing(name), device.persistent().open(name, bytes), 1);
    table.giveBack(session, false);
  }

  private final class Closing extends NeverRun {
    private final String name;

    Closing(String name) {
      this.name = name;
    }

    @Override
    public void close() {
      closed.add(name);
      if (failing.contains(name)) {
        throw new StatusException(Status.DEVICE_FAILURE, name + " cannot be closed");
      }
    }
  }

  @Test
  void leave_oneCannotBeClosed_theOthersAre() {
    PooledSession first = ready("first", 2 * MIB);
    EphemeralRegion lane = lanes.regions().getFirst();
    PooledSession.Key another = new PooledSession.Key(first.key.range(), lane);
    build(table.take(another), "another", 3 * MIB);
    StructureRange leaving = joined.removeFirst();
    failing = "first another";
    assertThrows(StatusException.class, () -> table.leave(leaving.structure()));
    assertEquals(Set.of("first", "another"), Set.copyOf(closed));
  }

  @Test
  void sessions_areFoundByTheirStructure_untilTheyAreClosed() {
    PooledSession first = ready("first", 2 * MIB);
    EphemeralRegion lane = lanes.regions().getFirst();
    PooledSession.Key another = new PooledSession.Key(first.key.range(), lane);
    build(table.take(another), "another", 1 * MIB);
    asked("other", 3 * MIB);
    assertEquals(List.of(2, 1), sessionsOfStructures());
    assertEquals(Set.of(lane), table.readyLanesOf(first.key.range()));
    PooledSession given = Objects.requireNonNull(table.begin(key("given up")));
    assertEquals(List.of(2, 1, 1), sessionsOfStructures());
    table.giveBack(given, false);
    table.abandon(given);
    assertEquals(List.of(2, 1, 0), sessionsOfStructures());
    assertTrue(table.evictUnused(5 * MIB));
    assertEquals(List.of(1, 1, 0), sessionsOfStructures());
    table.leave(joined.removeFirst().structure());
    assertEquals(Set.of("first", "another"), Set.copyOf(closed));
    assertEquals(List.of(1, 0), sessionsOfStructures());
  }

  /** In the order in which the structures came. */
  private List<Integer> sessionsOfStructures() {
    return joined.stream()
        .map(
            range ->
                table.overview().entries().stream()
                    .filter(entry -> entry.structure().equals(range.structure().hash()))
                    .findFirst()
                    .orElseThrow()
                    .sessions())
        .toList();
  }

  @Test
  void evictUnused_allOfThemAreNotEnough_closesNone() {
    ready("ready", 2 * MIB);
    ready("another", 3 * MIB);
    asked("asked", 4 * MIB);
    assertFalse(table.evictUnused(7 * MIB));
    assertEquals(List.of(), closed);
  }

  @Test
  void canFree_countsWhatIsFreeAndIdle() {
    ready("ready", 2 * MIB);
    asked("asked", 3 * MIB);
    assertTrue(lanes.tryReservePersistent(MIB));
    long all = lanes.freeBytes() + 5 * MIB;
    assertTrue(table.canFree(all));
    assertFalse(table.canFree(all + 1));
    lanes.releasePersistent(MIB);
    assertEquals(List.of(), closed);
  }

  @Test
  void evictUnused_enoughIsFree_closesNone() {
    ready("ready", 2 * MIB);
    assertTrue(table.evictUnused(8 * MIB));
    assertEquals(List.of(), closed);
  }

  @Test
  void evictUnused_oneIsEnough_closesTheSmallestOfThose() {
    ready("small", MIB);
    ready("large", 4 * MIB);
    ready("middle", 3 * MIB);
    asked("asked", MIB);
    assertTrue(table.evictUnused(4 * MIB));
    assertEquals(List.of("middle"), closed);
    assertEquals(4 * MIB, lanes.freeBytes());
  }

  @Test
  void evictIdle_allOfThemAreNotEnough_closesNone() {
    ready("ready", 2 * MIB);
    asked("asked", 3 * MIB);
    PooledSession inUse = table.take(key("in use"));
    assertTrue(table.rechargeFromFree(inUse, MIB));
    table.evictIdle(10 * MIB);
    table.abandon(inUse);
    assertEquals(List.of(), closed);
  }

  @Test
  void evictIdle_closesThoseOfLeastValueUntilItIsEnough() {
    asked("asked", 3 * MIB);
    ready("ready", 2 * MIB);
    table.evictIdle(5 * MIB);
    assertEquals(List.of(), closed, "it is free");
    table.evictIdle(6 * MIB);
    assertEquals(List.of("ready"), closed);
  }

  @Test
  void evictIdle_oneIsNotEnough_closesOthersAsWell() {
    asked("asked", 3 * MIB);
    ready("ready", 2 * MIB);
    asked("another", 4 * MIB);
    table.evictIdle(6 * MIB);
    assertEquals(List.of("ready", "another"), closed, "the rest stays");
  }

  @Test
  void evictUnused_oneIsNotEnough_closesTheLargestFirst() {
    ready("small", MIB);
    ready("large", 4 * MIB);
    ready("middle", 3 * MIB);
    assertTrue(table.evictUnused(8 * MIB));
    assertTrue(table.evictUnused(8 * MIB));
    assertTrue(table.evictUnused(8 * MIB), "it is there");
    assertEquals(List.of("large", "middle"), closed);
  }
}
