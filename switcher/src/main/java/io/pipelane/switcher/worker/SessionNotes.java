package io.pipelane.switcher.worker;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The notes of several sessions of one structure on how they run, put together. */
final class SessionNotes {
  private SessionNotes() {}

  /** Each note once, with the number of sessions it is about where that is not all of them. */
  static List<String> of(List<List<String>> notesOfSessions) {
    Map<String, Integer> counts = new LinkedHashMap<>();
    notesOfSessions.forEach(notes -> notes.forEach(note -> counts.merge(note, 1, Integer::sum)));
    int sessions = notesOfSessions.size();
    return counts.entrySet().stream()
        .map(
            note ->
                note.getValue() == sessions
                    ? note.getKey()
                    : "%s (%d of %d sessions)".formatted(note.getKey(), note.getValue(), sessions))
        .toList();
  }
}
