package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.host.HostWeights;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The weights that a model reads where they lie in host memory, held there as long as the model is
 * registered; of most models nothing. Of a hot model there may be a copy on the device. Shown and
 * hidden under the daemon's lock, had and given back outside.
 */
final class InPlaceWeights implements AutoCloseable {
  private final HostMemory.@Nullable Loaded held;
  private final TableCopy copy;

  private InPlaceWeights(HostMemory.@Nullable Loaded held) {
    this.held = held;
    this.copy = new TableCopy(held == null ? MemorySegment.NULL : held.memory());
  }

  /**
   * Has a model's put into host memory.
   *
   * @throws StatusException {@link Status#INTERNAL} when the file is not the one that the plan
   *     tells of, {@link Status#INSUFFICIENT_MEMORY} when the host tier has no room
   * @throws java.io.UncheckedIOException when it cannot be read
   */
  static InPlaceWeights of(ImportedModel model, HostWeights host) {
    long bytes = model.plan().inPlaceBytes();
    if (bytes == 0) {
      return new InPlaceWeights(null);
    }
    HostMemory.Loaded loaded = host.inPlace(model);
    long found = loaded.memory().byteSize();
    if (found != bytes) {
      loaded.close();
      throw new StatusException(
          Status.INTERNAL,
          "%s has %d bytes, the plan of %s says %d; delete its folder to have it imported again"
              .formatted(model.inPlaceWeights(), found, model.version(), bytes));
    }
    return new InPlaceWeights(loaded);
  }

  /** Of a model that reads nothing in place, a copy of nothing. */
  TableCopy copy() {
    return copy;
  }

  void showIn(AddressRange range) {
    if (held != null) {
      range.show(held);
      copy.showIn(range);
    }
  }

  void hideFrom(AddressRange range) {
    if (held != null) {
      range.hide();
    }
  }

  @Override
  public void close() {
    try {
      copy.close();
    } finally {
      if (held != null) {
        held.close();
      }
    }
  }
}
