package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class SessionNotesTest {
  @Test
  void of_nothing_isNothing() {
    assertEquals(List.of(), SessionNotes.of(List.of()));
    assertEquals(List.of(), SessionNotes.of(List.of(List.of(), List.of())));
  }

  @Test
  void of_whatAllTell_isToldOnce() {
    assertEquals(List.of("a", "b"), SessionNotes.of(List.of(List.of("a", "b"), List.of("b", "a"))));
  }

  @Test
  void of_whatSomeTell_tellsHowMany() {
    assertEquals(
        List.of("captured (1 of 2 sessions)", "not captured yet (1 of 2 sessions)"),
        SessionNotes.of(List.of(List.of("captured"), List.of("not captured yet"))));
  }
}
