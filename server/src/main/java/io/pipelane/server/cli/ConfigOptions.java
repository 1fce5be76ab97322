package io.pipelane.server.cli;

import io.pipelane.config.ConfigLoader;
import io.pipelane.config.ConfigLocation;
import io.pipelane.config.EffectiveConfig;
import io.pipelane.config.Setting;
import io.pipelane.config.Settings;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.IModelTransformer;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/**
 * The options {@code --config FILE} and a flag for every setting, given to a command. Name this
 * class as the command's {@code modelTransformer}, then {@link #load} in the command.
 */
public final class ConfigOptions implements IModelTransformer {
  private static final String FILE = "--config";

  /** Short names of the settings that are set most. */
  private static final Map<String, String> SHORT_NAMES =
      Map.of(
          "repository.path", "--repository",
          "device.kind", "--device",
          "device.memory", "--memory",
          "server.host", "--host",
          "server.http-port", "--http-port",
          "server.grpc-port", "--grpc-port");

  @Override
  public CommandSpec transform(CommandSpec spec) {
    spec.interpolateVariables(false);
    spec.usageMessage().abbreviateSynopsis(true); // There are more flags than a line can tell.
    spec.addOption(
        OptionSpec.builder(FILE)
            .paramLabel("FILE")
            .type(Path.class)
            .description(
                "YAML file with settings; config/pipelane.yaml shows them all. Default: "
                    + ConfigLocation.OF_THE_SYSTEM
                    + ", if there is one.")
            .build());
    for (Settings.Group group : Settings.groups()) {
      ArgGroupSpec.Builder section =
          ArgGroupSpec.builder()
              .validate(false)
              .exclusive(false)
              .heading(System.lineSeparator() + group.about() + ":" + System.lineSeparator());
      group.settings().forEach(setting -> section.addArg(option(setting)));
      spec.addArgGroup(section.build());
    }
    return spec;
  }

  private static OptionSpec option(Setting setting) {
    String standard = setting.otherwise().isEmpty() ? "" : " Default: " + setting.otherwise() + ".";
    String[] names =
        Optional.ofNullable(SHORT_NAMES.get(setting.key()))
            .map(name -> new String[] {name, "--" + setting.key()})
            .orElseGet(() -> new String[] {"--" + setting.key()});
    return OptionSpec.builder(names)
        .paramLabel("VALUE")
        .type(String.class)
        .description(
            "%s (%s).%s".formatted(setting.about(), setting.allowed(), standard).replace("%", "%%"))
        .build();
  }

  /**
   * The configuration that a parsed command asks for.
   *
   * @throws io.pipelane.config.ConfigException when it cannot be used
   */
  public static EffectiveConfig load(CommandSpec spec, Map<String, String> environment) {
    ParseResult parsed = spec.commandLine().getParseResult();
    @Nullable Path file =
        ConfigLocation.of(parsed.matchedOptionValue(FILE, null), ConfigLocation.OF_THE_SYSTEM);
    Map<String, String> flags = new HashMap<>();
    for (Setting setting : Settings.all()) {
      String flag = "--" + setting.key();
      if (parsed.hasMatchedOption(flag)) {
        flags.put(setting.key(), parsed.matchedOptionValue(flag, ""));
      }
    }
    return ConfigLoader.load(file, environment, flags);
  }
}
