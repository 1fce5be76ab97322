package io.pipelane.config;

import java.util.Collection;
import java.util.Comparator;

/** The hint behind an unknown name. */
final class Suggestion {
  private Suggestion() {}

  /** A question naming the candidate closest by edit distance; empty when none comes close. */
  static String forUnknown(String name, Collection<String> candidates) {
    int limit = Math.max(2, name.length() / 3);
    return candidates.stream()
        .filter(candidate -> distance(name, candidate) <= limit)
        .min(Comparator.comparingInt(candidate -> distance(name, candidate)))
        .map(candidate -> "; did you mean " + candidate + "?")
        .orElse("");
  }

  /** Levenshtein's distance. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int substituted = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(substituted, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
