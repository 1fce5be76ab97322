package io.pipelane.loadgen;

import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** A command's options as results keep them. */
final class Flags {
  private Flags() {}

  /** Every option with its value as JSON can hold it, given or not. */
  static Map<String, @Nullable Object> of(CommandSpec command) {
    Map<String, @Nullable Object> flags = new TreeMap<>();
    for (OptionSpec option : command.options()) {
      if (!option.usageHelp() && !option.versionHelp()) {
        flags.put(option.longestName().replaceFirst("^-+", ""), plain(option.getValue()));
      }
    }
    return flags;
  }

  private static @Nullable Object plain(@Nullable Object value) {
    return switch (value) {
      case null -> null;
      case Number number -> number;
      case Boolean flag -> flag;
      case Map<?, ?> pairs -> pairs.toString();
      case Collection<?> several -> several.stream().map(String::valueOf).toList();
      default -> value.toString();
    };
  }
}
