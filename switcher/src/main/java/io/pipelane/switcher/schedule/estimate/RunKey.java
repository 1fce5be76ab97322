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
  private final ModelVersion model;
  private final List<Shape> shapes;
  private final int hash; // Every request is looked up several times.

  private RunKey(ModelVersion model, List<Shape> shapes) {
    this.model = model;
    this.shapes = shapes;
    this.hash = 31 * model.hashCode() + shapes.hashCode();
  }

  /** The key of a request, whose inputs are in the order of the model's declaration. */
  public static RunKey of(InferenceRequest request) {
    List<Shape> shapes = new ArrayList<>(request.inputs().size());
    for (InputTensor input : request.inputs()) {
      shapes.add(input.shape());
    }
    return new RunKey(request.model(), shapes);
  }

  /** The model that such runs are of. */
  public ModelVersion model() {
    return model;
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
    return new RunKey(
        model, shapes.stream().map(shape -> withRows(shape, count * shape.dimension(0))).toList());
  }

  /** A shape with so many rows along its first axis, which it has. */
  public static Shape withRows(Shape shape, long rows) {
    long[] dimensions = shape.toArray();
    dimensions[0] = rows;
    return Shape.of(dimensions);
  }
}
