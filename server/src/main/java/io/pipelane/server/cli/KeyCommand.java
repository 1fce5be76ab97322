package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.node.TextNode;
import io.pipelane.server.access.KeyText;
import io.pipelane.server.access.Role;
import java.io.PrintWriter;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pipelane key}: makes an API key. */
@Command(
    name = "key",
    description = "Make an API key, and print it with its entry for the file security.api-keys.")
final class KeyCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(paramLabel = "NAME", description = "What messages call the key's holder.")
  private String name = "";

  @Option(
      names = "--role",
      paramLabel = "ROLE",
      description = "infer, manage or observe; several times for several. infer if none is given.")
  private Set<Role> roles = EnumSet.noneOf(Role.class);

  @Option(
      names = "--model",
      paramLabel = "NAME",
      description = "A model that the key is for; it may end with *. All if none is given.")
  private List<String> models = List.of();

  @Override
  public Integer call() {
    if (!name.matches(KeyText.NAME)) {
      throw new ParameterException(
          spec.commandLine(), "NAME \"%s\" is not %s".formatted(name, KeyText.NAME));
    }
    for (String model : models) {
      if (!model.matches(KeyText.MODELS)) {
        throw new ParameterException(
            spec.commandLine(),
            "--model \"%s\" is no model's name, which may end with *".formatted(model));
      }
    }
    String key = KeyText.random(new SecureRandom());
    Set<Role> chosen = roles.isEmpty() ? EnumSet.of(Role.INFER) : roles;
    PrintWriter out = spec.commandLine().getOut();
    out.println("The key, which nobody can tell again:");
    out.println();
    out.println("    " + key);
    out.println();
    out.println("Its entry, below \"keys:\" in the file:");
    out.println();
    out.println("  - name: " + quoted(name));
    out.println("    sha256: \"" + KeyText.digest(key) + "\"");
    out.println(
        "    roles: [" + chosen.stream().map(Role::text).collect(Collectors.joining(", ")) + "]");
    if (!models.isEmpty()) {
      out.println(
          "    models: ["
              + models.stream().map(KeyCommand::quoted).collect(Collectors.joining(", "))
              + "]");
    }
    out.flush();
    return 0;
  }

  /** As JSON has a text, which YAML reads alike. */
  private static String quoted(String text) {
    return TextNode.valueOf(text).toString();
  }
}
