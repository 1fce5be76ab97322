package io.pipelane.switcher.memory;

import io.pipelane.modelstore.ModelVersion;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** Flight Recorder's event of one page that comes ahead of runs, from its sending on. */
@Name("pipelane.FetchAhead")
@Label("Fetch Ahead")
@Description("A page of a model's weights is brought onto a device ahead of runs")
final class FetchAheadEvent extends TransferEvent {
  FetchAheadEvent(ModelVersion of, long resident, long moved) {
    super(of, resident, moved);
  }
}
