package io.pipelane.bench.forms;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Results;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench forms}: gated execution beside a plain ONNX Runtime session. */
@Command(
    name = "forms",
    description =
        "Latency and throughput of gated execution, and latency of a cold start, beside a "
            + "plain ONNX Runtime session; all of them in this process.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class FormsCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--case",
      paramLabel = "TEXT",
      description = "Only cases whose name contains this, like bge or noop; may be repeated.")
  private List<String> wanted = new ArrayList<>();

  @Override
  public Integer call() throws Exception {
    PrintWriter out = spec.commandLine().getOut();
    Path work = options.work();
    Path repository = work.resolve("repository");
    List<BenchCase> cases = BenchCase.all(repository).stream().filter(this::isWanted).toList();
    if (cases.isEmpty()) {
      throw new IllegalArgumentException("--case: no case has a name with any of " + wanted);
    }
    BenchCase.write(repository, cases);
    Results results = new Results(FormsColumns.TITLE, FormsColumns.ALL, FormsColumns.NOTES);
    try (LocalPipelane gated = LocalPipelane.start(repository, work)) {
      for (BenchCase benchCase : cases) {
        out.println("measuring " + benchCase.name());
        out.flush();
        try (FormsRound round =
            new FormsRound(benchCase, gated, options.warmup(), options.length())) {
          for (int i = 0; i < options.rounds(); i++) {
            round.measure(results);
          }
        }
      }
    }
    options.publish(spec, results, OrtEnvironment.getEnvironment().getVersion());
    return 0;
  }

  private boolean isWanted(BenchCase benchCase) {
    return wanted.isEmpty() || wanted.stream().anyMatch(benchCase.name()::contains);
  }
}
