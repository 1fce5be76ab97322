package io.pipelane.bench.overhead;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.ModelOptions;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.Results;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code bench overhead}: an iteration in Pipelane over one in a plain session. */
@Command(
    name = "overhead",
    description =
        "How long one request takes in Pipelane, through queue and lane, beside a plain "
            + "session of ONNX Runtime with the same threads (Salus, section 5.4).",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class OverheadCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions(1);
  @Mixin private ModelOptions chosen = new ModelOptions();

  @Override
  public Integer call() throws Exception {
    Path work = options.work();
    AskedModels models = chosen.models(work, accelerated);
    Results results =
        new Results(OverheadColumns.TITLE, OverheadColumns.ALL, OverheadColumns.NOTES);
    OverheadRounds rounds =
        new OverheadRounds(work, accelerated, options.rounds(), options.length(), results);
    try (CutOff measuring = options.publishIfCutOff(spec, results)) {
      for (String name : chosen.names(models)) {
        AskedModel asked = models.find(name);
        Console.say(spec, "measuring " + asked.name());
        Path folder = models.repository("alone-" + asked.model(), List.of(asked));
        rounds.measure(asked, folder, options.warmup()).forEach(note -> Console.say(spec, note));
      }
      measuring.complete();
    }
    rounds.summarise();
    options.publish(
        spec, results, rounds.runtimeVersion(), Map.of("device", accelerated.device().toString()));
    return 0;
  }
}
