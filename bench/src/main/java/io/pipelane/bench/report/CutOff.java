package io.pipelane.bench.report;

import java.io.IOException;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;

/**
 * The publication of what has been measured when that does not come to its end, by an error or by a
 * signal. Measuring takes long, and the time of some machines is dear. Belongs to the thread that
 * measures.
 */
public final class CutOff implements AutoCloseable {
  private final ReportOptions files;
  private final CommandSpec spec;
  private final Results results;
  private final Thread hook;
  private boolean complete;

  CutOff(ReportOptions files, CommandSpec spec, Results results) {
    this.files = files;
    this.spec = spec;
    this.results = results;
    this.hook = new Thread(this::publish, "cut-off");
    Runtime.getRuntime().addShutdownHook(hook);
  }

  private void publish() {
    try {
      files.publish(spec, results, "not told", Map.of("cut off", "before its end"));
    } catch (IOException e) {
      Console.say(spec, "what was measured could not be written: " + e);
    }
  }

  /** All is measured. */
  public void complete() {
    complete = true;
  }

  @Override
  public void close() {
    if (isRunning() && !complete) {
      publish();
    }
  }

  /** False when a signal ends the program, so that the hook publishes. */
  private boolean isRunning() {
    try {
      return Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      return false;
    }
  }
}
