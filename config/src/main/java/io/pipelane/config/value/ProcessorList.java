package io.pipelane.config.value;

import java.util.BitSet;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Some of a host's processors, by number.
 *
 * @param numbers ascending, one at least
 */
public record ProcessorList(List<Integer> numbers) {
  public static final String FORM = "processors like 0-3,8";
  private static final Pattern PART = Pattern.compile("(\\d{1,4})(?:-(\\d{1,4}))?");

  /** As many as Linux can be built for, about. */
  private static final int MOST = 8192;

  public ProcessorList {
    numbers = List.copyOf(numbers);
  }

  /** Reads {@code 0-3,8}. */
  public static ProcessorList parse(String text) {
    BitSet processors = new BitSet();
    for (String part : text.split(",", -1)) {
      Matcher range = PART.matcher(part.strip());
      if (!range.matches()) {
        throw new IllegalArgumentException("\"" + text + "\" is not " + FORM);
      }
      int first = Integer.parseInt(range.group(1));
      int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
      if (last < first || last >= MOST) {
        throw new IllegalArgumentException("they must rise, and be below " + MOST);
      }
      processors.set(first, last + 1);
    }
    return new ProcessorList(processors.stream().boxed().toList());
  }

  /** As it is written in a configuration. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    int i = 0;
    while (i < numbers.size()) {
      int begin = i;
      while (i + 1 < numbers.size() && numbers.get(i + 1) == numbers.get(i) + 1) {
        i++;
      }
      text.append(text.isEmpty() ? "" : ",").append(numbers.get(begin));
      text.append(i > begin ? "-" + numbers.get(i) : "");
      i++;
    }
    return text.toString();
  }
}
