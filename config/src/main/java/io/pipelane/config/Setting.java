package io.pipelane.config;

import java.util.Locale;

/**
 * One configuration key: what it is called everywhere, what it means, and what it may be.
 *
 * @param key dotted path in the file, and the flag behind two dashes
 * @param standard the default as written in a file; empty when there is none
 * @param optional whether the setting may be left without a value
 * @param unset what that amounts to, in words; empty when it needs none
 */
public record Setting(
    String key,
    String about,
    String standard,
    boolean optional,
    String unset,
    ValueType<?> type,
    Range range) {

  /** The limits of a value as written; empty text is no limit. */
  record Range(String min, String max, boolean powerOfTwo) {}

  /** The environment variable that sets it. */
  public String variable() {
    return Settings.VARIABLE_PREFIX
        + key.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
  }

  /** What holds when nothing is written, in words; empty when that is nothing. */
  public String otherwise() {
    return standard.isEmpty() ? unset : standard;
  }

  /** What values are allowed, in words. */
  public String allowed() {
    String limits = range.min.isEmpty() ? "" : ", from " + range.min + " to " + range.max;
    return type.form() + limits + (range.powerOfTwo ? ", a power of two" : "");
  }

  /**
   * Reads a value.
   *
   * @throws IllegalArgumentException when it is not allowed
   */
  Object read(String text) {
    return read(type, text);
  }

  private <T> T read(ValueType<T> type, String text) {
    T value = type.reader().apply(text);
    long magnitude = type.magnitude().applyAsLong(value);
    if ((!range.min.isEmpty() && magnitude < measure(type, range.min))
        || (!range.max.isEmpty() && magnitude > measure(type, range.max))) {
      throw new IllegalArgumentException("out of range");
    }
    if (range.powerOfTwo && Long.bitCount(magnitude) != 1) {
      throw new IllegalArgumentException("not a power of two");
    }
    return value;
  }

  private static <T> long measure(ValueType<T> type, String text) {
    return type.magnitude().applyAsLong(type.reader().apply(text));
  }
}
