package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The concrete shapes of inputs, found for each model. */
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

  /**
   * Checks that requests for every model may have several rows.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when one's may not
   */
  public static void requireBatches(List<ModelMetadata> models, int batch) {
    for (ModelMetadata model : models) {
      if (model.inputs().stream().noneMatch(InputShapes::isBatched)) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "requests for \"%s\" cannot have %d rows: the first dimension of its inputs is fixed"
                .formatted(model.name(), batch));
      }
    }
  }

  /**
   * The shape asked for, or the declared one with 1 for its open dimensions.
   *
   * @param batch takes the place of the first dimension where that is open; 0 leaves it as it is
   */
  static List<Long> concrete(
      Map<String, List<Long>> shapes, String model, TensorMetadata tensor, int batch) {
    List<Long> shape = new ArrayList<>(concrete(shapes, model, tensor));
    if (batch > 0 && isBatched(tensor)) {
      shape.set(0, (long) batch);
    }
    return shape;
  }

  private static List<Long> concrete(
      Map<String, List<Long>> shapes, String model, TensorMetadata tensor) {
    return asked(shapes, model, tensor).stream()
        .map(dimension -> dimension < 0 ? 1 : dimension)
        .toList();
  }

  /** The shape asked for, or the declared one, in which open dimensions are negative. */
  static List<Long> asked(Map<String, List<Long>> shapes, String model, TensorMetadata tensor) {
    List<Long> asked = shapes.get(qualified(model, tensor));
    if (asked == null) {
      asked = shapes.get(tensor.name());
    }
    if (asked == null) {
      return tensor.shape();
    }
    if (!admits(tensor.shape(), asked)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "--shape %s of input \"%s\" does not fit model \"%s\", which declares %s"
              .formatted(asked, tensor.name(), model, tensor.shape()));
    }
    return asked;
  }

  /** The first dimension of the first input that leaves its own open; 1 where none does. */
  static long rows(ModelMetadata model, List<TensorValue> inputs) {
    for (TensorValue input : inputs) {
      for (TensorMetadata declared : model.inputs()) {
        if (declared.name().equals(input.name()) && isBatched(declared)) {
          return input.shape().getFirst();
        }
      }
    }
    return 1;
  }

  private static boolean isBatched(TensorMetadata input) {
    return !input.shape().isEmpty() && input.shape().getFirst() < 0;
  }

  /** Whether a tensor may have a shape. */
  static boolean admits(List<Long> declared, List<Long> asked) {
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

  /**
   * A tensor that was read, as it is, if it fits what the model declares.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} otherwise, with both
   */
  static TensorValue requireFit(String model, TensorMetadata tensor, TensorValue value) {
    boolean isWhole =
        value.type() == Datatype.BYTES
            || TensorValue.elements(value.shape()) * value.type().width()
                == value.data().remaining();
    if (value.type() != Datatype.of(tensor) || !admits(tensor.shape(), value.shape()) || !isWhole) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "--input-data: \"%s\" of \"%s\" is %s%s of %d bytes, the model declares %s%s"
              .formatted(
                  tensor.name(),
                  model,
                  value.type(),
                  value.shape(),
                  value.data().remaining(),
                  tensor.datatype(),
                  tensor.shape()));
    }
    return value;
  }

  private static String qualified(String model, TensorMetadata input) {
    return model + "/" + input.name();
  }
}
