package io.pipelane.lanes.process.settings;

import io.pipelane.config.section.WorkersConfig.SwitchOn;

/**
 * The settings of worker processes.
 *
 * @param program what each executes
 * @param lanes runs under way at a time, those that are stopped included
 * @param switchOn when another worker takes over
 * @param crew who there is
 * @param times how long each may take
 */
public record WorkerSettings(
    WorkerProgram program, int lanes, SwitchOn switchOn, WorkerCrew crew, WorkerTimes times) {
  /**
   * Whether no worker is to see what another one's runs have in memory, as each belongs to one
   * owner.
   */
  public boolean isMemoryApart() {
    return switchOn.keepsOwnersApart();
  }
}
