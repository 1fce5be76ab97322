package io.pipelane.loadgen.report;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.Step;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.HdrHistogram.Histogram;

/** The response times of an experiment's last load, all runs together, in HdrHistogram's form. */
public final class PercentileFile {
  private static final double NANOS_PER_MILLISECOND = 1e6;

  private PercentileFile() {}

  /** Writes a {@code .hgrm} file in milliseconds, which HdrHistogram's plotter reads. */
  public static void write(Path file, Experiment experiment) throws IOException {
    Step last = experiment.steps().getLast();
    Histogram sum = last.runs().getFirst().report().total().responseNanos().copy();
    for (MeasuredRun run : last.runs().subList(1, last.runs().size())) {
      sum.add(run.report().total().responseNanos());
    }
    try (PrintStream out =
        new PrintStream(Files.newOutputStream(file), false, StandardCharsets.UTF_8)) {
      sum.outputPercentileDistribution(out, NANOS_PER_MILLISECOND);
      if (out.checkError()) {
        throw new IOException("cannot write " + file);
      }
    }
  }
}
