package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A handler that asks another one for the place of each output once, however often its request is
 * run. A run that ends early may have been given places, and the next one is given the same.
 * Belongs to the thread that runs the request, one after another.
 */
public final class PlacedOnce implements ForwardingHandler {
  private final ResultHandler handler;
  private final List<Place> places = new ArrayList<>(1);

  private record Place(String name, TensorType type, Shape shape, MemorySegment memory) {}

  public PlacedOnce(ResultHandler handler) {
    this.handler = handler;
  }

  @Override
  public ResultHandler handler() {
    return handler;
  }

  /**
   * {@inheritDoc}
   *
   * @throws StatusException {@link Status#INTERNAL} when an earlier run had another output there
   */
  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    for (Place known : places) {
      if (known.name.equals(name)) {
        return same(known, type, shape, byteSize);
      }
    }
    MemorySegment memory = handler.place(name, type, shape, byteSize);
    places.add(new Place(name, type, shape, memory));
    return memory;
  }

  private static MemorySegment same(Place known, TensorType type, Shape shape, long byteSize) {
    boolean isSame =
        known.type == type && known.shape.equals(shape) && known.memory.byteSize() == byteSize;
    if (!isSame) {
      throw new StatusException(
          Status.INTERNAL,
          "output \"%s\" was %s %s in a run that ended early, and is %s %s now"
              .formatted(known.name, known.type, known.shape, type, shape));
    }
    return known.memory;
  }
}
