package io.pipelane.server.device;

import io.pipelane.config.SwitchingConfig.ShareStructures;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.Switcher;
import java.util.List;

/**
 * Which models that differ in their weights alone share sessions and addresses. What shares takes
 * turns: where pages are mapped by calls into a driver, a turn costs more than a run's gates do.
 *
 * @param setting what the configuration says
 * @param isTurnDear whether devices are such
 */
record StructureSharing(ShareStructures setting, boolean isTurnDear) {

  /** A model that is to be registered, as it is to be; any thread, at once. */
  ImportedModel applied(ImportedModel model, List<Switcher> devices) {
    boolean shares =
        switch (setting) {
          case ALWAYS -> true;
          case NEVER -> false;
          case AUTO -> !isTurnDear || !hasRoomUnshared(model, devices);
        };
    return shares ? model : model.unshared();
  }

  /** The first of its structure has nobody to share with yet. */
  private static boolean hasRoomUnshared(ImportedModel model, List<Switcher> devices) {
    return devices.stream().anyMatch(device -> device.hasStructureOf(model))
        && devices.stream().allMatch(device -> device.hasRoomUnshared(model));
  }
}
