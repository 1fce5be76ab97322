package io.pipelane.server.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** A table of text whose columns are aligned to the left. */
final class LeftAlignedTable {
  private final List<List<String>> rows = new ArrayList<>();

  LeftAlignedTable(String... heads) {
    rows.add(List.of(heads));
  }

  /** Adds a row with as many cells as there are heads. */
  void add(String... cells) {
    if (cells.length != rows.getFirst().size()) {
      throw new IllegalArgumentException(cells.length + " cells for " + rows.getFirst());
    }
    rows.add(List.of(cells));
  }

  void print(PrintWriter out) {
    int columns = rows.getFirst().size();
    int[] widths = new int[columns];
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < columns; i++) {
        line.append(row.get(i)).repeat(' ', widths[i] - row.get(i).length() + 2);
      }
      out.println(line.toString().stripTrailing());
    }
  }
}
