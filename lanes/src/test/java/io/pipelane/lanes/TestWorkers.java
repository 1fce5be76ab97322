package io.pipelane.lanes;

import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.ProcessPriority;
import io.pipelane.lanes.process.settings.Launcher;
import io.pipelane.lanes.process.settings.WorkerCrew;
import io.pipelane.lanes.process.settings.WorkerProgram;
import io.pipelane.lanes.process.settings.WorkerSettings;
import io.pipelane.lanes.process.settings.WorkerTimes;
import io.pipelane.lanes.process.worker.WorkerMain;
import io.pipelane.runtime.SharedCache;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** What the worker processes of a test are like: as usual, but for what it says. */
public final class TestWorkers {
  private final int standbys;
  private Class<?> program = WorkerMain.class;
  private int lanes = 1;
  private SwitchOn switchOn = SwitchOn.FAULT;
  private boolean offlineApart;
  private Duration hangTimeout = Duration.ofSeconds(20);
  private Duration startTimeout = Duration.ofSeconds(30);
  private Duration endTimeout = WorkerTimes.USUAL_END;
  private Duration grace = WorkerTimes.USUAL_GRACE;
  private Launcher launcher = Launcher.SYSTEM;

  /** One is active, so many stand by, and there is one lane. */
  public TestWorkers(int standbys) {
    this.standbys = standbys;
  }

  /** Their main class. */
  public TestWorkers program(Class<?> program) {
    this.program = program;
    return this;
  }

  /** So many can be had. */
  public TestWorkers lanes(int lanes) {
    this.lanes = lanes;
    return this;
  }

  /** What makes another one active. */
  public TestWorkers switchOn(SwitchOn switchOn) {
    this.switchOn = switchOn;
    return this;
  }

  /** Whether offline work has one of its own. */
  public TestWorkers offlineApart(boolean offlineApart) {
    this.offlineApart = offlineApart;
    return this;
  }

  /** How long a segment may take. */
  public TestWorkers hangTimeout(Duration hangTimeout) {
    this.hangTimeout = hangTimeout;
    return this;
  }

  /** How long a start may take. */
  public TestWorkers startTimeout(Duration startTimeout) {
    this.startTimeout = startTimeout;
    return this;
  }

  /** How long one that was killed may stay. */
  public TestWorkers endTimeout(Duration endTimeout) {
    this.endTimeout = endTimeout;
    return this;
  }

  /** How long one that another has taken over from is let alone. */
  public TestWorkers grace(Duration grace) {
    this.grace = grace;
    return this;
  }

  /** What starts them. */
  public TestWorkers launcher(Launcher launcher) {
    this.launcher = launcher;
    return this;
  }

  /** All of it; they begin with classes from the tests' archive. */
  public WorkerSettings settings() {
    Path _ = SharedCache.folder();
    return new WorkerSettings(
        new WorkerProgram(program, TestDevices.library(), 1, ByteSize.ofMebibytes(64), launcher),
        lanes,
        switchOn,
        new WorkerCrew(
            standbys,
            offlineApart,
            new ProcessPriority(TestDevices.OFFLINE_NICE, Optional.empty()),
            Math.max(1, standbys)),
        new WorkerTimes(hangTimeout, startTimeout, endTimeout, grace));
  }
}
