package io.pipelane.switcher.memory;

import io.pipelane.modelstore.ModelVersion;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** Flight Recorder's event of one transfer, from its start until all its copies have ended. */
@Name("pipelane.Switch")
@Label("Switch")
@Description("Missing weights of a model are brought onto a device")
final class SwitchEvent extends TransferEvent {
  SwitchEvent(ModelVersion of, long resident, long moved) {
    super(of, resident, moved);
  }
}
