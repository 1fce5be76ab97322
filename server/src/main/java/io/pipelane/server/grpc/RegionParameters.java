package io.pipelane.server.grpc;

import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.InferParameter;
import io.pipelane.server.shared.RegionPart;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The place of a tensor in shared memory, as its parameters say. */
final class RegionParameters {
  private static final String REGION = "shared_memory_region";
  private static final String SIZE = "shared_memory_byte_size";
  private static final String OFFSET = "shared_memory_offset";

  private RegionParameters() {}

  static boolean areIn(Map<String, InferParameter> parameters) {
    return parameters.containsKey(REGION);
  }

  /**
   * What they say; null for a tensor that is sent.
   *
   * @param label what the tensor is called in error messages
   * @throws StatusException when they do not fit together
   */
  static @Nullable RegionPart of(String label, Map<String, InferParameter> parameters) {
    InferParameter region = parameters.get(REGION);
    if (region == null && !parameters.containsKey(SIZE)) {
      return null;
    }
    if (region == null) {
      throw needsBoth(label);
    }
    if (!region.hasStringParam()) {
      throw InferMessageReader.invalid(label + ": parameter \"" + REGION + "\" must be a string");
    }
    return new RegionPart(
        region.getStringParam(), number(label, parameters, OFFSET, 0), size(label, parameters));
  }

  private static long size(String label, Map<String, InferParameter> parameters) {
    long size = number(label, parameters, SIZE, -1);
    if (size < 0) {
      throw needsBoth(label);
    }
    return size;
  }

  private static StatusException needsBoth(String label) {
    return InferMessageReader.invalid(label + " needs both " + REGION + " and " + SIZE);
  }

  /** Refuses them where there is no tensor that could lie there. */
  static void refuseIn(String label, Map<String, InferParameter> parameters) {
    for (String name : List.of(REGION, SIZE, OFFSET)) {
      if (parameters.containsKey(name)) {
        throw InferMessageReader.invalid(
            "%s: parameter \"%s\" belongs to an input or an output".formatted(label, name));
      }
    }
  }

  private static long number(
      String label, Map<String, InferParameter> parameters, String name, long otherwise) {
    InferParameter number = parameters.getOrDefault(name, InferParameter.getDefaultInstance());
    return switch (number.getParameterChoiceCase()) {
      case PARAMETERCHOICE_NOT_SET -> otherwise;
      case INT64_PARAM -> number.getInt64Param();
      case UINT64_PARAM -> number.getUint64Param();
      default ->
          throw InferMessageReader.invalid(
              label + ": parameter \"" + name + "\" must be an integer");
    };
  }

  /** The parameters that say it. */
  static Map<String, InferParameter> of(RegionPart part, int bytes) {
    return Map.of(
        REGION, InferParameter.newBuilder().setStringParam(part.region()).build(),
        OFFSET, InferParameter.newBuilder().setInt64Param(part.offset()).build(),
        SIZE, InferParameter.newBuilder().setInt64Param(bytes).build());
  }
}
