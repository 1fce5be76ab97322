package io.pipelane.server.protocol.inference;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.Json;
import io.pipelane.server.shared.RegionPart;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The outputs that a request wants, in which order, and what it says of their form. */
final class OutputWishes {
  private final List<TensorSpec> specs;

  /** By position in {@code specs}; empty where nothing is said of any, as {@code regions} is. */
  private final List<@Nullable Boolean> binary = new ArrayList<>();

  private final List<@Nullable RegionPart> regions = new ArrayList<>();

  private OutputWishes(List<TensorSpec> specs) {
    this.specs = specs;
  }

  /** Every output, in the order of the model's declaration. */
  static OutputWishes all(ServedModel model) {
    return new OutputWishes(model.outputs());
  }

  /** Reads the array at the parser's current token; an empty one wants every output. */
  static OutputWishes read(JsonParser parser, ServedModel model) throws IOException {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw Json.wrong(parser, "outputs", "an array");
    }
    OutputWishes wishes = new OutputWishes(new ArrayList<>());
    Set<String> seen = new HashSet<>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      wishes.readOne(parser, model, seen);
    }
    return wishes.specs.isEmpty() ? all(model) : wishes;
  }

  private void readOne(JsonParser parser, ServedModel model, Set<String> seen) throws IOException {
    String place = "outputs[" + specs.size() + "]";
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw Json.wrong(parser, place, "an object");
    }
    String name = null;
    Parameters parameters = Parameters.NONE;
    for (String member = parser.nextFieldName(); member != null; member = parser.nextFieldName()) {
      JsonToken token = parser.nextToken();
      switch (member) {
        case "name" -> {
          if (token != JsonToken.VALUE_STRING) {
            throw Json.wrong(parser, place + ".name", "a string");
          }
          if (name != null) {
            throw Json.duplicate(place + ".name");
          }
          name = parser.getText();
        }
        case "parameters" -> {
          parameters.requireNone(place + ".parameters");
          parameters = Parameters.read(parser, place, Parameters.OF_OUTPUT);
        }
        default -> parser.skipChildren();
      }
    }
    if (name == null) {
      throw Json.invalid(place + " has no name");
    }
    if (!seen.add(name)) {
      throw Json.duplicate("output \"" + Json.shorten(name) + '"');
    }
    specs.add(declaration(model, name, place));
    binary.add(parameters.binaryData());
    regions.add(parameters.region("output", name));
  }

  private static TensorSpec declaration(ServedModel model, String name, String place) {
    for (TensorSpec spec : model.outputs()) {
      if (spec.name().equals(name)) {
        return spec;
      }
    }
    throw Json.invalid(
        place
            + ": the model has no output \""
            + Json.shorten(name)
            + "\"; its outputs are "
            + model.outputs().stream().map(TensorSpec::name).toList());
  }

  /** The names wanted, in the order wanted. */
  List<String> names() {
    String[] names = new String[specs.size()];
    for (int i = 0; i < names.length; i++) {
      names[i] = specs.get(i).name();
    }
    return List.of(names);
  }

  /** Where in shared memory each output goes, null for those that are sent; empty where all are. */
  List<@Nullable RegionPart> regions() {
    return regions;
  }

  /**
   * Whether each output is to be sent as binary data.
   *
   * @param otherwise what holds for outputs of which nothing is said
   * @throws StatusException when an output has no JSON form and is not wanted as binary
   */
  List<Boolean> binary(ServedModel model, boolean otherwise) {
    Boolean[] resolved = new Boolean[specs.size()];
    for (int i = 0; i < resolved.length; i++) {
      Boolean wanted = binary.isEmpty() ? null : binary.get(i);
      boolean isSent = regions.isEmpty() || regions.get(i) == null;
      boolean asBinary = isSent && (wanted == null ? otherwise : wanted);
      if (isSent && !asBinary && specs.get(i).type() == TensorType.BF16) {
        throw Json.invalid(
            "output \""
                + specs.get(i).name()
                + "\" of "
                + model.version()
                + " is BF16 and has no JSON form; ask for binary_data");
      }
      resolved[i] = asBinary;
    }
    return List.of(resolved);
  }
}
