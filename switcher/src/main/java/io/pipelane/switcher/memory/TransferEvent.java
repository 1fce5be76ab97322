package io.pipelane.switcher.memory;

import io.pipelane.modelstore.ModelVersion;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/**
 * Flight Recorder's event of weights that are brought onto a device. It leaves out what a class has
 * declared private to itself where it records one that extends it.
 */
@Category("Pipelane")
@Enabled(false)
@StackTrace(false)
abstract class TransferEvent extends Event {
  @Label("Model")
  final String model;

  @Label("Version")
  final long version;

  @Label("Resident Before")
  @DataAmount
  final long resident;

  @Label("Moved")
  @DataAmount
  final long moved;

  /**
   * Of a model's weights.
   *
   * @param resident bytes that are there already
   * @param moved bytes that are brought
   */
  TransferEvent(ModelVersion of, long resident, long moved) {
    this.model = of.model();
    this.version = of.version();
    this.resident = resident;
    this.moved = moved;
  }

  /** Begins an event; null where nobody records such events. */
  static <E extends TransferEvent> @Nullable E begun(E event) {
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }
}
