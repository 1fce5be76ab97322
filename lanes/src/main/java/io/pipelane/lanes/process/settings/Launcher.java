package io.pipelane.lanes.process.settings;

import java.io.IOException;

/** The way to start a worker's program in a process of its own. */
@FunctionalInterface
public interface Launcher {
  /** As the system does it. */
  Launcher SYSTEM = ProcessBuilder::start;

  Process start(ProcessBuilder program) throws IOException;
}
