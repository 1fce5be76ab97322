package io.pipelane.bench.cycles;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.PlainSession;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.FolderOptions;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.Results;
import io.pipelane.demo.protocol.Tensor;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench cycles}: two models take turns on a device that has room for one. */
@Command(
    name = "cycles",
    description =
        "Throughput and latency when a background job and an inference model take turns, "
            + "every 30 to 0.01 seconds, on a device with memory for one of them; against "
            + "stop-and-start (PipeSwitch, figure 6).",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class CyclesCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions(1);

  @Mixin private FolderOptions chosen = new FolderOptions();

  @Option(
      names = "--background",
      paramLabel = "NAME",
      description = {
        "The model of the background job, or the beginning of a case (${DEFAULT-VALUE}); the zoo's "
            + "*_train are training steps."
      })
  private String background = "vae_train";

  @Option(
      names = "--inference",
      paramLabel = "NAME",
      description = "The other model, or the beginning of a case (${DEFAULT-VALUE}).")
  private String inference = "bge-small-en-q 16";

  @Option(
      names = "--cycle",
      split = ",",
      paramLabel = "S",
      description = "Seconds of a turn, one cycle after another (${DEFAULT-VALUE}).")
  private List<Double> cycles = List.of(30.0, 10.0, 5.0, 2.0, 1.0, 0.1, 0.01);

  @Override
  public Integer call() throws Exception {
    if (cycles.stream().anyMatch(seconds -> !(seconds >= 0.001 && seconds <= 3_600))) {
      throw new IllegalArgumentException("--cycle must be between 0.001 and 3600: " + cycles);
    }
    Path work = options.work();
    AskedModels models = chosen.models(work, accelerated);
    AskedModel first = models.find(background);
    AskedModel second = models.find(inference);
    if (first.model().equals(second.model())) {
      throw new IllegalArgumentException(
          "--background and --inference must be different models; both are " + first.model());
    }
    String name = "cycles-" + first.model() + "-" + second.model();
    Path folder = models.repository(name, List.of(first, second));
    Results results = new Results(CyclesColumns.TITLE, CyclesColumns.ALL, CyclesColumns.NOTES);
    CyclesRounds rounds =
        new CyclesRounds(
            cycles.stream().map(s -> Duration.ofNanos(Math.round(s * 1e9))).toList(),
            options.length(),
            results);
    Map<String, String> settings = new HashMap<>(accelerated.serverSettings(work));
    settings.put("device.lanes", "1");
    Map<Way.Role, List<Tensor>> inputs;
    String runtimeVersion;
    try (LocalPipelane server = LocalPipelane.start(folder, work, settings)) {
      runtimeVersion = server.runtimeVersion();
      inputs =
          Map.of(
              Way.Role.BACKGROUND, server.inputs(first), Way.Role.INFERENCE, server.inputs(second));
      settings.put("device.memory", Long.toString(server.roomForLargest()));
    }
    try (CutOff measuring = options.publishIfCutOff(spec, results)) {
      for (int round = 0; round < options.rounds(); round++) {
        Console.say(spec, "round " + (round + 1) + " of " + options.rounds());
        LocalPipelane server = LocalPipelane.start(folder, work, settings);
        try (Way way = new SwitchedWay(server, first, second)) {
          rounds.measure("Pipelane", way);
        }
        Path library = AcceleratorOptions.library(work);
        try (Way way =
            new RestartedWay(
                role ->
                    new PlainSession(
                        library,
                        (role == Way.Role.BACKGROUND ? first : second).file(),
                        accelerated.provider(),
                        inputs.getOrDefault(role, List.of()),
                        bytes -> Arena.ofAuto().allocate(bytes, 64)))) {
          rounds.measure("stop and start", way);
        }
      }
      measuring.complete();
    }
    options.publish(
        spec,
        results,
        runtimeVersion,
        Map.of(
            "device", accelerated.device().toString(),
            "device memory", settings.get("device.memory") + " bytes",
            "background", first.name(),
            "inference", second.name()));
    return 0;
  }
}
