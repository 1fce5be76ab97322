package io.pipelane.loadgen;

import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.RunObserver;
import io.pipelane.loadgen.report.Machine;
import io.pipelane.loadgen.report.TextReport;
import io.pipelane.loadgen.result.Progress;
import io.pipelane.loadgen.server.ServerDescription;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import java.io.Console;
import java.io.PrintWriter;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** An observer that shows runs to a person: what they do, how far they are, what they measured. */
final class ConsoleObserver implements RunObserver {
  private static final int MOST_MODELS_SHOWN = 8;

  private final PrintWriter out;
  private final @Nullable PrintWriter terminal;
  private final ServerDescription server;
  private final Machine machine;
  private final ObjectiveOptions judged;
  private boolean begun;
  private boolean openLoop;

  /**
   * @param err where progress is shown, when a person watches
   */
  ConsoleObserver(
      PrintWriter out,
      PrintWriter err,
      ServerDescription server,
      Machine machine,
      ObjectiveOptions judged) {
    this.out = out;
    this.terminal = isWatched() ? err : null;
    this.server = server;
    this.machine = machine;
    this.judged = judged;
  }

  @Override
  public void begins(LoadTest test, int run) {
    openLoop = test.mode() instanceof LoadMode.Open;
    if (!begun) {
      begun = true;
      describe(test);
    }
    out.printf(
        "%nload         %s%s%n",
        test.mode().description(), run == 0 ? "" : ", run " + (run + 1) + ", seed " + test.seed());
    out.flush();
  }

  @Override
  public void progress(Progress progress) {
    if (terminal != null) {
      terminal.printf(
          Locale.ROOT,
          "\r%6.1f s %s %d answered, %d errors, %d under way   ",
          progress.elapsed().toNanos() / 1e9,
          progress.warm() ? "measuring" : "warm-up  ",
          progress.answered(),
          progress.errors(),
          progress.inFlight());
      terminal.flush();
    }
  }

  @Override
  public void ended(MeasuredRun run) {
    if (terminal != null) {
      terminal.print("\r" + " ".repeat(72) + "\r");
      terminal.flush();
    }
    new TextReport(out, openLoop, judged.objective, judged.classes()).print(run);
  }

  private void describe(LoadTest test) {
    out.printf("server       %s, %s%n", test.endpoint(), server);
    String windows =
        test.window().stability() == null
            ? ""
            : ", up to " + test.window().maximumWindows() + " times";
    long limit = test.window().requestLimit();
    out.printf(
        "time         %s%s%s after %s of warm-up, seed %d%n",
        test.window().length(),
        windows,
        limit == Long.MAX_VALUE ? "" : " or " + limit + (limit == 1 ? " request" : " requests"),
        test.window().warmup(),
        test.seed());
    out.printf("models       %s:", test.choice());
    double[] shares = test.choice().shares(test.models().size());
    for (int i = 0; i < Math.min(shares.length, MOST_MODELS_SHOWN); i++) {
      out.printf(Locale.ROOT, " %s %.1f %%", test.models().get(i).model(), 100 * shares[i]);
    }
    if (shares.length > MOST_MODELS_SHOWN) {
      out.printf(" and %d more", shares.length - MOST_MODELS_SHOWN);
    }
    out.printf("%nclient       %d cores, %s%n", machine.cores(), machine.processor());
  }

  @SuppressWarnings("SystemConsoleNull") // there is none without a terminal
  private static boolean isWatched() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }
}
