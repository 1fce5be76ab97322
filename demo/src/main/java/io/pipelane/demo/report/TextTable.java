package io.pipelane.demo.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A table in plain text: the first column begins at the left, the others end at the right. */
public final class TextTable {
  private static final String GAP = "  ";

  private final List<List<String>> rows = new ArrayList<>();

  TextTable(String... headings) {
    rows.add(List.of(headings));
  }

  /** Adds a row of as many cells as there are headings. */
  void row(String... cells) {
    if (cells.length != rows.getFirst().size()) {
      throw new IllegalArgumentException(
          cells.length + " cells for " + rows.getFirst().size() + " columns");
    }
    rows.add(List.of(cells));
  }

  /** The lines: headings, a rule, the rows. */
  List<String> lines() {
    int[] widths = widths(rows);
    List<String> lines = new ArrayList<>(lines(rows));
    lines.add(1, line(Arrays.stream(widths).mapToObj("-"::repeat).toList(), widths));
    return lines;
  }

  /** One line a row, all of them of as many cells as the first. */
  public static List<String> lines(List<List<String>> rows) {
    int[] widths = widths(rows);
    return rows.stream().map(row -> line(row, widths)).toList();
  }

  private static int[] widths(List<List<String>> rows) {
    int[] widths = new int[rows.getFirst().size()];
    for (List<String> row : rows) {
      for (int column = 0; column < widths.length; column++) {
        widths[column] = Math.max(widths[column], row.get(column).length());
      }
    }
    return widths;
  }

  private static String line(List<String> cells, int[] widths) {
    StringBuilder line = new StringBuilder();
    for (int column = 0; column < widths.length; column++) {
      String cell = cells.get(column);
      String padding = " ".repeat(widths[column] - cell.length());
      line.append(column == 0 ? cell + padding : GAP + padding + cell);
    }
    return line.toString().stripTrailing();
  }
}
