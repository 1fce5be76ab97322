package io.pipelane.bench.report;

import io.pipelane.bench.measure.Medians;
import io.pipelane.bench.measure.PairedRounds.Interval;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/**
 * The measurements of a benchmark program: for every case and column one value a round, of which
 * the median counts. A ratio is taken within each round, so that drift of the machine hits both its
 * sides alike. Safe for any thread.
 */
public final class Results {
  private final String title;
  private final List<Column> columns;
  private final List<String> notes;
  private final Map<String, Map<Column, List<Double>>> cases = new LinkedHashMap<>();
  private final Map<String, Map<Column, String>> aims = new LinkedHashMap<>();
  private final Map<String, Map<Column, Interval>> intervals = new LinkedHashMap<>();

  /**
   * Results without a value yet.
   *
   * @param notes how to read the columns, for people
   */
  public Results(String title, List<Column> columns, List<String> notes) {
    this.title = title;
    this.columns = List.copyOf(columns);
    this.notes = List.copyOf(notes);
  }

  /** Adds a round's value. */
  public synchronized void add(String caseName, Column column, double value) {
    cases
        .computeIfAbsent(caseName, _ -> new LinkedHashMap<>())
        .computeIfAbsent(column, _ -> new ArrayList<>())
        .add(value);
  }

  /**
   * Says what a case is to reach, which tables have in brackets behind its median.
   *
   * @param aim in words, such as {@code <= 20}
   */
  public synchronized void aim(String caseName, Column column, String aim) {
    aims.computeIfAbsent(caseName, _ -> new LinkedHashMap<>()).put(column, aim);
  }

  /**
   * Says what a case's rounds come to together and how sure that is, which tables have in place of
   * the median.
   */
  public synchronized void interval(String caseName, Column column, Interval interval) {
    intervals.computeIfAbsent(caseName, _ -> new LinkedHashMap<>()).put(column, interval);
  }

  /** Notes a case that could not be measured; its row has dashes, its name says why. */
  public synchronized void missing(String caseName) {
    cases.computeIfAbsent(caseName, _ -> new LinkedHashMap<>());
  }

  /** The median of a case's rounds; empty where there is no value. */
  public synchronized OptionalDouble median(String caseName, Column column) {
    List<Double> values = cases.getOrDefault(caseName, Map.of()).getOrDefault(column, List.of());
    return values.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(Medians.of(values));
  }

  /** Heading cells, then a row of medians for each case; a column without a value shows a dash. */
  public synchronized List<List<String>> table() {
    List<List<String>> rows = new ArrayList<>();
    List<String> headings = new ArrayList<>(List.of("case"));
    columns.forEach(column -> headings.add(column.heading()));
    rows.add(headings);
    cases.forEach(
        (name, values) -> {
          List<String> row = new ArrayList<>(List.of(name));
          Map<Column, String> aimed = aims.getOrDefault(name, Map.of());
          for (Column column : columns) {
            @Nullable Interval interval = intervals(name).get(column);
            String cell =
                interval == null
                    ? cell(column, values.getOrDefault(column, List.of()))
                    : cell(column, interval);
            row.add(aimed.containsKey(column) ? cell + " (" + aimed.get(column) + ")" : cell);
          }
          rows.add(row);
        });
    return rows;
  }

  private static String cell(Column column, List<Double> values) {
    return values.isEmpty() ? "-" : rounded(column, Medians.of(values));
  }

  private static String cell(Column column, Interval interval) {
    return "%s (%s to %s)"
        .formatted(
            rounded(column, interval.ratio()),
            rounded(column, interval.low()),
            rounded(column, interval.high()));
  }

  private static String rounded(Column column, double value) {
    return String.format(Locale.ROOT, "%." + column.decimals() + "f", value);
  }

  /** What is known of a case's rounds together, by column. */
  synchronized Map<Column, Interval> intervals(String caseName) {
    return intervals.getOrDefault(caseName, Map.of());
  }

  String title() {
    return title;
  }

  List<String> notes() {
    return notes;
  }

  /** Every round's values by case and column, in the order in which they were measured. */
  synchronized Map<String, Map<Column, List<Double>>> cases() {
    Map<String, Map<Column, List<Double>>> copy = new LinkedHashMap<>();
    cases.forEach(
        (name, values) -> {
          Map<Column, List<Double>> columnsOf = new LinkedHashMap<>();
          values.forEach((column, each) -> columnsOf.put(column, List.copyOf(each)));
          copy.put(name, columnsOf);
        });
    return copy;
  }
}
