package io.pipelane.config;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * The written form of one Java type's values, and what a range limits about them.
 *
 * @param form what a value looks like, in words
 * @param reader throws {@link IllegalArgumentException} for text that is no such value
 * @param magnitude the amount that a range compares; unused where no range is declared
 */
record ValueType<T>(String form, Function<String, T> reader, ToLongFunction<T> magnitude) {
  private static final ValueType<Integer> WHOLE_NUMBER =
      new ValueType<>("a whole number", Integer::valueOf, Integer::longValue);
  private static final ValueType<ByteSize> SIZE =
      new ValueType<>("a size like 128MiB", ByteSize::parse, ByteSize::bytes);
  private static final ValueType<Duration> DURATION =
      new ValueType<>("a duration like 500ms or 5m", DurationText::parse, Duration::toMillis);
  private static final ValueType<Bandwidth> BANDWIDTH =
      unranged("a size per second like 2GB/s, or unlimited", Bandwidth::parse);
  private static final ValueType<DeviceSelection> DEVICE =
      unranged("cpu | cuda | cuda:0,1 | auto", DeviceSelection::parse);
  private static final ValueType<ModelName> MODEL_NAME = unranged("a model's name", ModelName::new);
  private static final ValueType<Ratio> RATIO = unranged("a number from 0 to 1", Ratio::parse);
  private static final ValueType<Text> TEXT = unranged("a text of up to 255 characters", Text::new);
  private static final ValueType<URI> ADDRESS =
      unranged("a URL that begins with http:// or https://", ValueType::address);
  private static final ValueType<Addresses> ADDRESSES =
      unranged(
          "URLs that begin with http:// or https://, with commas between them", Addresses::parse);
  private static final ValueType<ProcessorList> PROCESSORS =
      unranged(ProcessorList.FORM, ProcessorList::parse);
  private static final ValueType<Thresholds> THRESHOLDS =
      unranged(Thresholds.FORM, Thresholds::parse);
  private static final ValueType<Percentages> PERCENTAGES =
      unranged(Percentages.FORM, Percentages::parse);
  private static final ValueType<Path> PATH = unranged("a path", ValueType::path);
  private static final ValueType<String> HOST = unranged("a host name or address", ValueType::host);
  private static final ValueType<Boolean> YES_OR_NO = unranged("true | false", ValueType::yesOrNo);

  boolean isPath() {
    return equals(PATH);
  }

  static ValueType<?> of(Class<?> type) {
    if (type.isEnum()) {
      return choice(type);
    }
    return switch (type.getSimpleName()) {
      case "int", "Integer" -> WHOLE_NUMBER;
      case "boolean" -> YES_OR_NO;
      case "String" -> HOST;
      case "ByteSize" -> SIZE;
      case "Duration" -> DURATION;
      case "Bandwidth" -> BANDWIDTH;
      case "Ratio" -> RATIO;
      case "Text" -> TEXT;
      case "URI" -> ADDRESS;
      case "Addresses" -> ADDRESSES;
      case "Path" -> PATH;
      case "ModelName" -> MODEL_NAME;
      case "ProcessorList" -> PROCESSORS;
      case "Thresholds" -> THRESHOLDS;
      case "Percentages" -> PERCENTAGES;
      case "DeviceSelection" -> DEVICE;
      default -> throw new IllegalArgumentException("no written form for " + type);
    };
  }

  private static <T> ValueType<T> unranged(String form, Function<String, T> reader) {
    return new ValueType<>(form, reader, value -> 0);
  }

  private static ValueType<?> choice(Class<?> type) {
    Object[] constants = type.getEnumConstants();
    String form =
        Arrays.stream(constants).map(ValueType::choiceText).collect(Collectors.joining(" | "));
    return unranged(
        form,
        text ->
            Arrays.stream(constants)
                .filter(constant -> choiceText(constant).equals(text.toLowerCase(Locale.ROOT)))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(text)));
  }

  private static String choiceText(Object constant) {
    return constant.toString().toLowerCase(Locale.ROOT);
  }

  private static Path path(String text) {
    if (text.isBlank()) {
      throw new IllegalArgumentException("an empty path");
    }
    return Path.of(text);
  }

  /** An address of HTTP, with a host, and a port that can be or none. */
  static URI address(String text) {
    URI address = URI.create(text);
    if (!text.matches("https?://.*") || address.getHost() == null) {
      throw new IllegalArgumentException("not a URL of HTTP");
    }
    if (address.getPort() == 0 || address.getPort() > ServerConfig.LARGEST_PORT) {
      throw new IllegalArgumentException(
          "a port that is not from 1 to " + ServerConfig.LARGEST_PORT);
    }
    return address;
  }

  private static String host(String text) {
    if (!text.matches("[\\w.:%-]{1,255}")) {
      throw new IllegalArgumentException("not a host");
    }
    return text;
  }

  private static boolean yesOrNo(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("neither true nor false");
    };
  }
}
