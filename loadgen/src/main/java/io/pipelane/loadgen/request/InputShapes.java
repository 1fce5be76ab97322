package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds the concrete shapes of inputs. */
public final class InputShapes {
  private InputShapes() {}

  /**
   * Checks that every shape asked for belongs to some input.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when one does not
   */
  public static void requireUsed(Map<String, List<Long>> shapes, List<ModelMetadata> models) {
    Set<String> known =
        models.stream()
            .flatMap(
                model ->
                    model.inputs().stream()
                        .flatMap(input -> Stream.of(input.name(), qualified(model.name(), input))))
            .collect(Collectors.toSet());
    for (String name : shapes.keySet()) {
      if (!known.contains(name)) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "--shape %s: no model has such an input; there are %s"
                .formatted(name, known.stream().sorted().toList()));
      }
    }
  }

  /** The shape asked for, or the declared one with 1 for its open dimensions. */
  static List<Long> concrete(Map<String, List<Long>> shapes, String model, TensorMetadata tensor) {
    List<Long> asked = shapes.get(qualified(model, tensor));
    if (asked == null) {
      asked = shapes.get(tensor.name());
    }
    if (asked == null) {
      return tensor.shape().stream().map(dimension -> dimension < 0 ? 1 : dimension).toList();
    }
    if (!admits(tensor.shape(), asked)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "--shape %s of input \"%s\" does not fit model \"%s\", which declares %s"
              .formatted(asked, tensor.name(), model, tensor.shape()));
    }
    return asked;
  }

  private static boolean admits(List<Long> declared, List<Long> asked) {
    if (declared.size() != asked.size()) {
      return false;
    }
    for (int axis = 0; axis < declared.size(); axis++) {
      long dimension = declared.get(axis);
      if (dimension >= 0 && dimension != asked.get(axis)) {
        return false;
      }
    }
    return true;
  }

  private static String qualified(String model, TensorMetadata input) {
    return model + "/" + input.name();
  }
}
