package io.pipelane.switcher.schedule.estimate;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.switcher.InferenceRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The key of runs that take the same time and memory: a model and its inputs' shapes. */
public final class RunKey {
  /** Rounded sizes from one power of two to the next; dimensions up to 16 are not rounded. */
  private static final int SIZES = 8;

  private final ModelVersion model;
  private final List<Shape> shapes;
  private final int hash; // Every request is looked up several times.
  private final @Nullable RunKey rounded; // Of steps alone.

  private RunKey(ModelVersion model, List<Shape> shapes, @Nullable RunKey rounded) {
    this.model = model;
    this.shapes = shapes;
    this.hash = 31 * model.hashCode() + shapes.hashCode();
    this.rounded = rounded;
  }

  private static RunKey of(ModelVersion model, List<Shape> shapes, boolean isStep) {
    @Nullable RunKey rounded =
        isStep ? new RunKey(model, shapes.stream().map(RunKey::roundedUp).toList(), null) : null;
    return new RunKey(model, shapes, rounded);
  }

  /** The key of a request, whose inputs are in the order of the model's declaration. */
  public static RunKey of(InferenceRequest request) {
    List<Shape> shapes = new ArrayList<>(request.inputs().size());
    for (InputTensor input : request.inputs()) {
      shapes.add(input.shape());
    }
    return of(request.model(), shapes, request.sequence().isPresent());
  }

  /** The model that such runs are of. */
  public ModelVersion model() {
    return model;
  }

  /**
   * Whether it is of a sequence's steps, whose shapes may be new each time: a decoder's cache has a
   * row more with each token.
   */
  boolean isOfSteps() {
    return rounded != null;
  }

  /**
   * The key of steps of about the same size: each dimension is rounded up, by an eighth at most.
   * Itself where it is of no steps.
   */
  public RunKey ofAboutThatSize() {
    return rounded == null ? this : rounded;
  }

  private static Shape roundedUp(Shape shape) {
    long[] dimensions = shape.toArray();
    for (int axis = 0; axis < dimensions.length; axis++) {
      long unit = Math.max(1, Long.highestOneBit(Math.max(1, dimensions[axis] - 1)) / SIZES);
      dimensions[axis] = Math.ceilDiv(dimensions[axis], unit) * unit;
    }
    return Shape.of(dimensions);
  }

  /** Whether it is of the same model, and none of its dimensions is larger than another's. */
  boolean isWithin(RunKey other) {
    if (!model.equals(other.model) || shapes.size() != other.shapes.size()) {
      return false;
    }
    for (int i = 0; i < shapes.size(); i++) {
      if (!isWithin(shapes.get(i), other.shapes.get(i))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isWithin(Shape shape, Shape other) {
    boolean isWithin = shape.rank() == other.rank();
    for (int axis = 0; isWithin && axis < shape.rank(); axis++) {
      isWithin = shape.dimension(axis) <= other.dimension(axis);
    }
    return isWithin;
  }

  /** How many inputs there are. */
  int inputs() {
    return shapes.size();
  }

  /** Elements of all inputs. */
  double elements() {
    double elements = 0;
    for (Shape shape : shapes) {
      double product = 1;
      for (int axis = 0; axis < shape.rank(); axis++) {
        product *= shape.dimension(axis);
      }
      elements += product;
    }
    return elements;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return this == other
        || (other instanceof RunKey key
            && hash == key.hash
            && model.equals(key.model)
            && shapes.equals(key.shapes));
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return model + " " + shapes;
  }

  /** Rows that all inputs have along their first axis; 0 where they have none in common. */
  public long rows() {
    long rows = 0;
    for (int i = 0; i < shapes.size(); i++) {
      Shape shape = shapes.get(i);
      if (shape.rank() == 0 || (i > 0 && shape.dimension(0) != rows)) {
        return 0;
      }
      rows = shape.dimension(0);
    }
    return rows;
  }

  /** The key of a batch of so many. */
  public RunKey times(int count) {
    return of(
        model,
        shapes.stream().map(shape -> withRows(shape, count * shape.dimension(0))).toList(),
        rounded != null);
  }

  /** A shape with so many rows along its first axis, which it has. */
  public static Shape withRows(Shape shape, long rows) {
    long[] dimensions = shape.toArray();
    dimensions[0] = rows;
    return Shape.of(dimensions);
  }
}
