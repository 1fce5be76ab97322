package io.pipelane.config;

import io.pipelane.config.value.Addresses;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.config.value.DurationText;
import io.pipelane.config.value.HostName;
import io.pipelane.config.value.ModelName;
import io.pipelane.config.value.Percentages;
import io.pipelane.config.value.ProcessorList;
import io.pipelane.config.value.Ratio;
import io.pipelane.config.value.Text;
import io.pipelane.config.value.Thresholds;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
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
public record ValueType<T>(String form, Function<String, T> reader, ToLongFunction<T> magnitude) {
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
      unranged(
          "a URL that begins with http:// or https://, without user:password@",
          Addresses::parseUrl);
  private static final ValueType<Addresses> ADDRESSES =
      unranged(
          "URLs that begin with http:// or https://, without user:password@, with commas between them",
          Addresses::parse);
  private static final ValueType<ProcessorList> PROCESSORS =
      unranged(ProcessorList.FORM, ProcessorList::parse);
  private static final ValueType<Thresholds> THRESHOLDS =
      unranged(Thresholds.FORM, Thresholds::parse);
  private static final ValueType<Percentages> PERCENTAGES =
      unranged(Percentages.FORM, Percentages::parse);
  private static final ValueType<Path> PATH = unranged("a path", ValueType::path);
  private static final ValueType<HostName> HOST = unranged("a host name or address", HostName::new);
  private static final ValueType<Boolean> YES_OR_NO = unranged("true | false", ValueType::yesOrNo);

  private static final Map<Class<?>, ValueType<?>> BY_CLASS =
      Map.ofEntries(
          Map.entry(int.class, WHOLE_NUMBER),
          Map.entry(Integer.class, WHOLE_NUMBER),
          Map.entry(boolean.class, YES_OR_NO),
          Map.entry(HostName.class, HOST),
          Map.entry(ByteSize.class, SIZE),
          Map.entry(Duration.class, DURATION),
          Map.entry(Bandwidth.class, BANDWIDTH),
          Map.entry(Ratio.class, RATIO),
          Map.entry(Text.class, TEXT),
          Map.entry(URI.class, ADDRESS),
          Map.entry(Addresses.class, ADDRESSES),
          Map.entry(Path.class, PATH),
          Map.entry(ModelName.class, MODEL_NAME),
          Map.entry(ProcessorList.class, PROCESSORS),
          Map.entry(Thresholds.class, THRESHOLDS),
          Map.entry(Percentages.class, PERCENTAGES),
          Map.entry(DeviceSelection.class, DEVICE));

  boolean isPath() {
    return equals(PATH);
  }

  static ValueType<?> of(Class<?> type) {
    if (type.isEnum()) {
      return choice(type);
    }
    ValueType<?> form = BY_CLASS.get(type);
    if (form == null) {
      throw new IllegalArgumentException("no written form for " + type);
    }
    return form;
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

  private static boolean yesOrNo(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("neither true nor false");
    };
  }
}
