package io.pipelane.config.value;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Some percentages, perhaps none.
 *
 * @param values ascending, from 1 to 100
 */
public record Percentages(List<Integer> values) {
  /** None. */
  public static final Percentages NONE = new Percentages(List.of());

  public static final String FORM = "percentages like 5/20, four at most, or off";
  private static final Pattern FEW = Pattern.compile("\\d{1,3}(/\\d{1,3}){0,3}");
  private static final int MOST = 100;

  public Percentages {
    values = List.copyOf(values);
  }

  /** Reads {@code 5/20} or {@code off}. */
  public static Percentages parse(String text) {
    if (text.equalsIgnoreCase("off")) {
      return NONE;
    }
    if (!FEW.matcher(text).matches()) {
      throw new IllegalArgumentException("\"" + text + "\" is not " + FORM);
    }
    List<Integer> values = Stream.of(text.split("/")).map(Integer::valueOf).toList();
    if (!values.equals(values.stream().distinct().sorted().toList())
        || values.getFirst() < 1
        || values.getLast() > MOST) {
      throw new IllegalArgumentException("they must rise, from 1 to " + MOST);
    }
    return new Percentages(values);
  }

  /** As it is written in a configuration. */
  @Override
  public String toString() {
    return values.isEmpty()
        ? "off"
        : values.stream().map(String::valueOf).collect(Collectors.joining("/"));
  }
}
