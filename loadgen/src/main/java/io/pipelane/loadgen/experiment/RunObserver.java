package io.pipelane.loadgen.experiment;

import io.pipelane.loadgen.result.Progress;
import io.pipelane.loadgen.settings.LoadTest;

/** An observer that is told what an experiment is doing, on the thread that runs it. */
public interface RunObserver {
  /** A run begins, counted from 0. */
  void begins(LoadTest test, int run);

  /** A run goes on; several times a second. */
  void progress(Progress progress);

  /** A run has ended. */
  void ended(MeasuredRun run);
}
