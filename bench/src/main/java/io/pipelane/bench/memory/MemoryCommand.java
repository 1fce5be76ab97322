package io.pipelane.bench.memory;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.ModelOptions;
import io.pipelane.bench.plot.LinePlot;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Results;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench memory}: device memory by kind, and copies beside inferences. */
@Command(
    name = "memory",
    description =
        "What models take of device memory, by kind, on average and at most; over time "
            + "across a switch; and how long their weights take to come beside how long they "
            + "run (Salus).",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class MemoryCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions(1);
  @Mixin private ModelOptions chosen = new ModelOptions();

  @Option(
      names = "--switch",
      split = ",",
      paramLabel = "NAME",
      description = "Two models, between which the switch is (${DEFAULT-VALUE}).")
  private List<String> switched = List.of("resnet50", "minilm-l6-v2 16");

  @Option(
      names = "--switch-svg",
      paramLabel = "FILE",
      description = "Draw memory over time across the switch.")
  private @Nullable Path switchDrawing;

  @Option(
      names = "--distribution-svg",
      paramLabel = "FILE",
      description = "Draw the distribution of copy/inference over the models.")
  private @Nullable Path distributionDrawing;

  @Override
  public Integer call() throws Exception {
    if (switched.size() != 2) {
      throw new IllegalArgumentException("--switch takes two models: " + switched);
    }
    Path work = options.work();
    AskedModels models = chosen.models(work, accelerated);
    List<String> notes = new ArrayList<>(MemoryColumns.NOTES);
    picture(notes, "Device memory by kind across a switch", switchDrawing);
    picture(notes, "Distribution of copy/inference", distributionDrawing);
    Results results = new Results(MemoryColumns.TITLE, MemoryColumns.ALL, notes);
    MemoryRounds rounds = new MemoryRounds(options.rounds(), options.length(), results);
    Map<String, String> device = accelerated.serverSettings(work);
    String runtimeVersion = "";
    for (String name : chosen.names(models)) {
      AskedModel asked = models.find(name);
      Console.say(spec, "measuring " + asked.name());
      Path folder = models.repository("alone-" + asked.model(), List.of(asked));
      try (LocalPipelane server = LocalPipelane.startFor(asked, folder, work, device)) {
        runtimeVersion = server.runtimeVersion();
        rounds.measure(server, asked);
      }
    }
    rounds.summarise();
    if (distributionDrawing != null) {
      rounds.distribution().write(distributionDrawing);
    }
    if (switchDrawing != null) {
      drawSwitch(models).write(switchDrawing);
    }
    options.publish(
        spec, results, runtimeVersion, Map.of("device", accelerated.device().toString()));
    return 0;
  }

  private static void picture(List<String> notes, String title, @Nullable Path file) {
    if (file != null) {
      notes.add("![%s](%s)".formatted(title, file.getFileName()));
    }
  }

  private LinePlot drawSwitch(AskedModels models) throws Exception {
    Path work = options.work();
    AskedModel first = models.find(switched.getFirst());
    AskedModel second = models.find(switched.getLast());
    Path folder =
        models.repository("switch-" + first.model() + "-" + second.model(), List.of(first, second));
    Map<String, String> settings = new HashMap<>(accelerated.serverSettings(work));
    settings.put("device.lanes", "1");
    try (LocalPipelane server = LocalPipelane.start(folder, work, settings)) {
      settings.put("device.memory", Long.toString(server.roomForLargest()));
    }
    try (LocalPipelane server = LocalPipelane.start(folder, work, settings)) {
      return SwitchWatch.plot(server, first, second);
    }
  }
}
