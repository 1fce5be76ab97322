package io.pipelane.server.device;

import io.pipelane.config.section.SwitchingConfig.ShareStructures;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.Switcher;
import java.util.ArrayList;
import java.util.List;

/**
 * The choice of which models that differ in their weights alone share sessions and addresses. What
 * shares takes turns, which is dear where pages are mapped by calls into a driver. Safe for any
 * thread.
 */
final class StructureSharing {
  private final ShareStructures setting;
  private final boolean isTurnDear;

  /** The structures of models that are being registered, which no device knows of yet. */
  private final List<String> coming = new ArrayList<>();

  /**
   * Nothing is registered yet.
   *
   * @param setting what the configuration says
   * @param isTurnDear whether devices are such
   */
  StructureSharing(ShareStructures setting, boolean isTurnDear) {
    this.setting = setting;
    this.isTurnDear = isTurnDear;
  }

  /** A model that is to be registered, as it is to be; {@link #ended} follows. */
  synchronized ImportedModel begun(ImportedModel model, List<Switcher> devices) {
    boolean shares =
        switch (setting) {
          case ALWAYS -> true;
          case NEVER -> false;
          case AUTO -> !isTurnDear || isFirst(model, devices) || !hasRoomUnshared(model, devices);
        };
    ImportedModel begun = shares ? model : model.unshared();
    coming.add(begun.plan().structureHash());
    return begun;
  }

  /** It is registered, or was refused. */
  synchronized void ended(ImportedModel begun) {
    coming.remove(begun.plan().structureHash());
  }

  /** The first of its structure has nobody to share with yet. */
  private boolean isFirst(ImportedModel model, List<Switcher> devices) {
    return !coming.contains(model.plan().structureHash())
        && devices.stream().noneMatch(device -> device.standing().hasStructureOf(model));
  }

  private boolean hasRoomUnshared(ImportedModel model, List<Switcher> devices) {
    return devices.stream()
        .allMatch(device -> device.standing().hasRoomUnshared(model, coming.size()));
  }
}
