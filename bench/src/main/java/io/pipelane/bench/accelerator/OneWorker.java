package io.pipelane.bench.accelerator;

import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.process.settings.Launcher;
import io.pipelane.lanes.process.settings.WorkerCrew;
import io.pipelane.lanes.process.settings.WorkerProgram;
import io.pipelane.lanes.process.settings.WorkerSettings;
import io.pipelane.lanes.process.settings.WorkerTimes;
import io.pipelane.lanes.process.worker.WorkerMain;
import java.nio.file.Path;
import java.time.Duration;

/** A worker process without others that stand by: what runs there is measured undisturbed. */
final class OneWorker {
  /** One run computes at a time, and another may have given way to it at a gate. */
  private static final int LANES = 2;

  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private OneWorker() {}

  /**
   * How it is run.
   *
   * @param library ONNX Runtime's
   */
  static WorkerSettings settings(Path library) {
    return new WorkerSettings(
        new WorkerProgram(WorkerMain.class, library, 1, ByteSize.ofMebibytes(128), Launcher.SYSTEM),
        LANES,
        SwitchOn.FAULT,
        WorkerCrew.of(0),
        new WorkerTimes(PATIENCE, PATIENCE, PATIENCE, WorkerTimes.USUAL_GRACE));
  }
}
