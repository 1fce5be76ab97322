package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ImportLineTest {
  private final ImportLine line = new ImportLine();
  private final List<String> done = new ArrayList<>();

  private static ModelVersion version(String model) {
    return new ModelVersion(model, 1);
  }

  private void addNew(String model) {
    line.addNew(version(model), () -> done.add(model));
  }

  private List<String> takeAll(int count) {
    IntStream.range(0, count).forEach(_ -> line.next().run());
    assertThrows(NoSuchElementException.class, line::next);
    return done;
  }

  @Test
  void changesComeFirst_thenWhatIsKnown_thenWhatIsAskedFor() {
    List.of("a", "b", "c", "d").forEach(this::addNew);
    line.addKnown(() -> done.add("known"));
    line.addChange(() -> done.add("changed"));
    line.ask(version("d"), Priority.ONLINE);
    line.ask(version("c"), Priority.ONLINE);
    line.ask(version("d"), Priority.ONLINE);
    line.ask(version("in service"), Priority.ONLINE);
    assertEquals(List.of("changed", "known", "d", "c", "a", "b"), takeAll(6));
  }

  /** A restart's jobs may ask for any number of models. */
  @Test
  void whatOnlineWorkAsksFor_goesBeforeWhatOfflineWorkHasAskedFor() {
    List.of("a", "b", "c", "d", "e").forEach(this::addNew);
    for (String model : List.of("e", "d", "c")) {
      line.ask(version(model), Priority.OFFLINE);
    }
    line.ask(version("b"), Priority.ONLINE);
    line.ask(version("d"), Priority.ONLINE);
    line.ask(version("b"), Priority.OFFLINE);
    assertEquals(List.of("b", "d", "e", "c", "a"), takeAll(5));
  }

  @Test
  void askedBeforeItIsInLine_goesFirst() {
    line.ask(version("b"), Priority.ONLINE);
    List.of("a", "b").forEach(this::addNew);
    assertEquals(List.of("b", "a"), takeAll(2));
  }

  /** Clients ask for versions that changes bring in for as long as the server runs. */
  @Test
  void firstImportsHaveEnded_nobodyIsKept() {
    line.ask(version("a"), Priority.ONLINE);
    assertEquals(1, line.marks());
    line.endOfNew();
    line.ask(version("b"), Priority.ONLINE);
    assertEquals(0, line.marks());
  }

  /**
   * Whose turn has come and could not be used goes before what came later, unless that is asked.
   */
  @Test
  void whatComesBack_goesBehindWhatIsAskedFor_andBeforeOthers() {
    List.of("a", "b", "c", "d", "e").forEach(this::addNew);
    IntStream.range(0, 3).forEach(_ -> line.next());
    line.ask(version("e"), Priority.ONLINE);
    line.ask(version("c"), Priority.ONLINE);
    for (String model : List.of("a", "b", "c")) {
      line.addBack(version(model), () -> done.add(model));
    }
    line.ask(version("b"), Priority.ONLINE);
    assertEquals(List.of("e", "c", "b", "a", "d"), takeAll(5));
  }

  @Test
  void changesWithoutEnd_leaveEveryFourthTurnToOthers() {
    List.of("a", "b").forEach(this::addNew);
    for (int i = 0; i < 8; i++) {
      line.addChange(() -> done.add("changed"));
    }
    assertEquals(
        List.of(
            "changed", "changed", "changed", "a", "changed", "changed", "changed", "b", "changed",
            "changed"),
        takeAll(10));
  }

  /** Nothing is lost or done twice. */
  @Test
  void randomWork_isDoneOnce_andNothingStarves() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Set<String> waiting = new HashSet<>();
    int added = 0;
    for (int step = 0; step < 5000; step++) {
      String name = "m" + added;
      switch (random.nextInt(5)) {
        case 0 -> line.addChange(() -> done.add(name));
        case 1 -> line.addKnown(() -> done.add(name));
        case 2 -> line.addNew(version(name), () -> done.add(name));
        case 3 -> {
          line.ask(version("m" + random.nextInt(added + 1)), Priority.ONLINE);
          continue;
        }
        default -> {
          if (!waiting.isEmpty()) {
            line.next().run();
            assertTrue(waiting.remove(done.getLast()), "seed " + seed);
          }
          continue;
        }
      }
      waiting.add(name);
      added++;
    }
    // What waits now is done although changes never cease.
    Set<String> old = new HashSet<>(waiting);
    int turns = 0;
    while (old.stream().anyMatch(waiting::contains)) {
      line.addChange(() -> done.add("another"));
      line.next().run();
      waiting.remove(done.getLast());
      turns++;
      assertTrue(
          turns <= (ImportLine.MOST_CHANGES_IN_A_ROW + 1) * (old.size() + 1), "seed " + seed);
    }
    done.removeIf("another"::equals);
    assertEquals(added, done.size(), "seed " + seed);
  }
}
