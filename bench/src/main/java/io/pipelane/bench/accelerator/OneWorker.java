package io.pipelane.bench.accelerator;

import io.pipelane.config.ByteSize;
import io.pipelane.config.WorkersConfig.SwitchOn;
import io.pipelane.lanes.cpu.ProcessPriority;
import io.pipelane.lanes.process.Launcher;
import io.pipelane.lanes.process.WorkerSettings;
import io.pipelane.lanes.process.worker.WorkerMain;
import java.nio.file.Path;
import java.time.Duration;

/** A worker process without others that stand by: what runs there is measured undisturbed. */
final class OneWorker {
  private static final int LANES = 1;
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private OneWorker() {}

  /**
   * How it is run.
   *
   * @param library ONNX Runtime's
   */
  static WorkerSettings settings(Path library) {
    return new WorkerSettings(
        WorkerMain.class,
        library,
        1,
        LANES,
        SwitchOn.FAULT,
        0,
        false,
        ProcessPriority.USUAL,
        1,
        PATIENCE,
        PATIENCE,
        PATIENCE,
        WorkerSettings.USUAL_GRACE,
        ByteSize.ofMebibytes(128),
        Launcher.SYSTEM);
  }
}
