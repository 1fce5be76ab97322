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

/** Flight Recorder's event of one page that comes ahead of runs, from its sending on. */
@Name("pipelane.FetchAhead")
@Label("Fetch Ahead")
@Description("A page of a model's weights is brought onto a device ahead of runs")
@Category("Pipelane")
@Enabled(false)
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // Flight Recorder reads the fields.
final class FetchAheadEvent extends Event {
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

  private FetchAheadEvent(ModelVersion of, long resident, long moved) {
    this.model = of.model();
    this.version = of.version();
    this.resident = resident;
    this.moved = moved;
  }

  /** The event of a page that is sent for; null where nobody records such events. */
  static @Nullable FetchAheadEvent begun(ModelVersion of, long resident, long moved) {
    FetchAheadEvent event = new FetchAheadEvent(of, resident, moved);
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }
}
