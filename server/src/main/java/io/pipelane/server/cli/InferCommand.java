package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pipelane infer}: sends one request to a running server. */
@Command(name = "infer", description = "Ask a model of a running server.")
final class InferCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(paramLabel = "MODEL", description = "The model's name; models lists them.")
  private String model = "";

  @Option(
      names = "--version",
      paramLabel = "VERSION",
      description = "The version; without it the server picks one.")
  private @Nullable String version;

  @Option(
      names = "--input",
      paramLabel = "[NAME=]VALUE",
      description = {
        "An input: JSON (nested or flat), or @FILE with JSON; text needs no quotes.",
        "The name may be left out where the model has one input."
      })
  private List<String> inputs = new ArrayList<>();

  @Option(
      names = "--output",
      paramLabel = "NAME",
      description = "An output wanted; without it all are.")
  private List<String> outputs = new ArrayList<>();

  @Option(names = "--json", description = "Print the server's answer as it is.")
  private boolean json;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    try (ServerClient client = address.connect()) {
      JsonNode answer = client.post(request(client.get(path())), path("infer"));
      if (json) {
        out.println(answer.toPrettyString());
      } else {
        AnswerText.print(answer, out);
      }
    }
    out.flush();
    return 0;
  }

  private String[] path(String... last) {
    List<String> segments = new ArrayList<>(List.of("v2", "models", model));
    if (version != null) {
      segments.addAll(List.of("versions", version));
    }
    segments.addAll(List.of(last));
    return segments.toArray(String[]::new);
  }

  private ObjectNode request(JsonNode metadata) {
    Map<String, TensorSpec> declared = new LinkedHashMap<>();
    for (JsonNode input : metadata.path("inputs")) {
      TensorSpec tensor = TensorDeclaration.of(input).spec();
      declared.put(tensor.name(), tensor);
    }
    Map<String, InputArgument> given = new LinkedHashMap<>();
    for (String input : inputs) {
      TensorSpec tensor = named(input, declared);
      String value =
          input.substring(input.startsWith(tensor.name() + "=") ? tensor.name().length() + 1 : 0);
      if (given.put(tensor.name(), InputArgument.read(tensor, value)) != null) {
        throw wrongInputs("input " + tensor.name() + " is given twice", declared);
      }
    }
    if (!given.keySet().containsAll(declared.keySet())) {
      throw wrongInputs("not all inputs are given", declared);
    }
    ObjectNode request = ServerClient.JSON.createObjectNode();
    ArrayNode tensors = request.putArray("inputs");
    given.values().forEach(argument -> tensors.add(argument.toTensor()));
    if (!outputs.isEmpty()) {
      ArrayNode wanted = request.putArray("outputs");
      outputs.forEach(output -> wanted.addObject().put("name", output));
    }
    return request;
  }

  private TensorSpec named(String input, Map<String, TensorSpec> declared) {
    for (TensorSpec tensor : declared.values()) {
      if (input.startsWith(tensor.name() + "=")) {
        return tensor;
      }
    }
    if (declared.size() == 1) {
      TensorSpec only = declared.values().iterator().next();
      if (mayBeValue(input, only)) {
        return only;
      }
    }
    throw wrongInputs("\"" + input + "\" names none of the inputs", declared);
  }

  /** Text may hold anything, as may a file's name; a number holds no equals sign. */
  private static boolean mayBeValue(String input, TensorSpec tensor) {
    return tensor.type() == TensorType.BYTES || input.startsWith("@") || !input.contains("=");
  }

  private StatusException wrongInputs(String complaint, Map<String, TensorSpec> declared) {
    String wanted =
        declared.values().stream()
            .map(
                tensor ->
                    "  --input " + tensor.name() + "=...  " + tensor.type() + " " + tensor.shape())
            .collect(Collectors.joining(System.lineSeparator()));
    return new StatusException(
        Status.INVALID_ARGUMENT,
        complaint + "; " + model + " takes" + System.lineSeparator() + wanted);
  }
}
