package io.pipelane.bench.report;

import picocli.CommandLine.Model.CommandSpec;

/**
 * Rows that are measured one after another: one that fails costs no other. Belongs to the thread
 * that measures.
 */
public final class Rows {
  /** Characters of a row's name: the column is as wide as the longest. */
  private static final int LONGEST = 120;

  private final CommandSpec spec;
  private final Results results;
  private boolean isWhole = true;

  /** No row is measured yet. */
  public Rows(CommandSpec spec, Results results) {
    this.spec = spec;
    this.results = results;
  }

  /** A measurement, which adds its results itself. */
  @FunctionalInterface
  public interface Measurement {
    void run() throws Exception;
  }

  /**
   * Measures a row; if that fails, a row without values says why.
   *
   * @throws InterruptedException when whoever measures is to stop
   */
  public void measure(String row, Measurement measurement) throws InterruptedException {
    Console.say(spec, "measuring " + row);
    try {
      measurement.run();
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      missing("%s, failed: %s".formatted(row, e.getMessage()));
      e.printStackTrace(spec.commandLine().getErr());
    }
  }

  /** Notes what could not be measured and why: a row without values. */
  public void missing(String row) {
    isWhole = false;
    Console.say(spec, row);
    String line = row.lines().findFirst().orElse(row);
    results.missing(line.length() > LONGEST ? line.substring(0, LONGEST) + " ..." : line);
  }

  /** What the program ends with: not well if a row failed. */
  public int status() {
    return isWhole ? 0 : 1;
  }
}
