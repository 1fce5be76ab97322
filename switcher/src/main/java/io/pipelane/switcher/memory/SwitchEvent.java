package io.pipelane.switcher.memory;

import io.pipelane.modelstore.ModelVersion;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** Flight Recorder's event of one transfer, from its start until all its copies have ended. */
@Name("pipelane.Switch")
@Label("Switch")
@Description("Missing weights of a model are brought onto a device")
@Category("Pipelane")
@Enabled(false)
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // Flight Recorder reads the fields.
final class SwitchEvent extends Event {
  @Label("Model")
  private final String model;

  @Label("Version")
  private final long version;

  @Label("Resident Before")
  @DataAmount
  private final long resident;

  @Label("Moved")
  @DataAmount
  private final long moved;

  private SwitchEvent(ModelVersion of, long resident, long moved) {
    this.model = of.model();
    this.version = of.version();
    this.resident = resident;
    this.moved = moved;
  }

  /** The event of a transfer that begins; null where nobody records such events. */
  static @Nullable SwitchEvent begun(ModelVersion of, long resident, long moved) {
    SwitchEvent event = new SwitchEvent(of, resident, moved);
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }
}
