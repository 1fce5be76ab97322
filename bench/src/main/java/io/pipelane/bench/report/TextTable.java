package io.pipelane.bench.report;

import java.util.ArrayList;
import java.util.List;

/**
 * Rows as lines of plain text: the first column begins at the left, the others end at the right.
 */
public final class TextTable {
  private static final String GAP = "  ";

  private TextTable() {}

  /** One line a row, all of them of as many cells as the first. */
  public static List<String> lines(List<List<String>> rows) {
    int[] widths = new int[rows.getFirst().size()];
    for (List<String> row : rows) {
      for (int column = 0; column < widths.length; column++) {
        widths[column] = Math.max(widths[column], row.get(column).length());
      }
    }
    List<String> lines = new ArrayList<>();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int column = 0; column < widths.length; column++) {
        String cell = row.get(column);
        String padding = " ".repeat(widths[column] - cell.length());
        line.append(column == 0 ? cell + padding : GAP + padding + cell);
      }
      lines.add(line.toString().stripTrailing());
    }
    return lines;
  }
}
