package io.pipelane.bench.preempt;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.FolderOptions;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.Results;
import io.pipelane.config.section.WorkersConfig.Isolation;
import io.pipelane.modelstore.ModelVersion;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench preempt}: a client asks for a cold model while a job holds the device. */
@Command(
    name = "preempt",
    description =
        "Latency over HTTP of a model whose weights are not on the device while a "
            + "background job runs there, less the ready model's, and time to its first "
            + "segment; against stop-and-start (PipeSwitch, tables 3 and 4).",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class PreemptCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions(1);

  @Mixin private FolderOptions chosen = new FolderOptions();

  @Option(
      names = "--background",
      paramLabel = "NAME",
      description = {
        "The job's model, or the beginning of a case (${DEFAULT-VALUE}); the zoo's *_train are "
            + "training steps."
      })
  private String background = "resnet50_train";

  @Option(
      names = "--background-batch",
      paramLabel = "N",
      description = "Rows of each of the job's items; --batch unless told otherwise.")
  private @Nullable Integer backgroundBatch;

  @Option(
      names = "--inference",
      paramLabel = "NAME",
      description = "The client's model, or the beginning of a case (${DEFAULT-VALUE}).")
  private String inference = "minilm-l6-v2 16";

  @Option(
      names = "--runs",
      paramLabel = "N",
      description = "Requests in each scene, all rounds together (${DEFAULT-VALUE}).")
  private int runs = 100;

  @Option(
      names = "--sessions",
      paramLabel = "N",
      description = "Sessions that stop and start makes, in each round (${DEFAULT-VALUE}).")
  private int sessions = 10;

  @Option(
      names = "--starts",
      paramLabel = "N",
      description = "Processes that are started, in each round (${DEFAULT-VALUE}).")
  private int starts = 1;

  @Option(
      names = "--isolation",
      split = ",",
      paramLabel = "WAY",
      description = "Where models run, of ${COMPLETION-CANDIDATES} (${DEFAULT-VALUE}).")
  private List<Isolation> isolations = List.of(Isolation.THREAD, Isolation.PROCESS);

  @Option(
      names = "--callers",
      paramLabel = "N",
      description = "Items of the job under way at once (${DEFAULT-VALUE}).")
  private int callers = 2;

  @Override
  public Integer call() throws Exception {
    if (runs < 1 || callers < 1 || sessions < 1 || starts < 0) {
      throw new IllegalArgumentException(
          "--runs, --callers and --sessions must be 1 at least, --starts 0: %d, %d, %d, %d"
              .formatted(runs, callers, sessions, starts));
    }
    int backgroundRows = backgroundBatch == null ? accelerated.batch() : backgroundBatch;
    if (backgroundRows < 1) {
      throw new IllegalArgumentException(
          "--background-batch must be 1 at least: " + backgroundRows);
    }
    Path work = options.work();
    AskedModels models = chosen.models(work, accelerated);
    AskedModel job = models.find(background, backgroundRows);
    AskedModel asked = models.find(inference);
    String name = "preempt-" + job.model() + "-" + asked.model();
    Path folder = models.repository(name, List.of(job, asked));
    List<String> notes = new ArrayList<>(PreemptColumns.NOTES);
    notes.add(PreemptColumns.PAPER);
    Results results = new Results(PreemptColumns.TITLE, PreemptColumns.ALL, notes);
    Map<String, String> settings = settings(work);
    String runtimeVersion;
    try (CutOff measuring = options.publishIfCutOff(spec, results)) {
      StopAndStart restarts;
      long roomForOne;
      try (LocalPipelane server = LocalPipelane.start(folder, work, settings)) {
        runtimeVersion = server.runtimeVersion();
        roomForOne = server.roomForLargest();
        restarts = new StopAndStart(job, server.inputs(job), asked, server.inputs(asked), results);
      }
      for (Isolation isolation : isolations) {
        String label = isolation.name().toLowerCase(Locale.ROOT);
        settings.put("workers.isolation", label);
        settings.remove("device.memory");
        measure(label + ", room for both", folder, settings, job, asked, results);
        settings.put("device.memory", Long.toString(roomForOne));
        measure(label + ", room for one", folder, settings, job, asked, results);
      }
      settings.remove("device.memory");
      settings.put("repository.path", folder.toString());
      settings.put("repository.cache", work.resolve("cache").toString());
      for (int round = 0; round < options.rounds(); round++) {
        restarts.measureSessions(
            AcceleratorOptions.library(work), accelerated.provider(), sessions);
        if (starts > 0) {
          restarts.measureProcesses(work, settings, starts);
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
            "background", job.name(),
            "inference", asked.name()));
    return 0;
  }

  private int runsARound() {
    return Math.max(1, runs / options.rounds());
  }

  private Map<String, String> settings(Path work) {
    Map<String, String> settings = new HashMap<>(accelerated.serverSettings(work));
    settings.put("device.lanes", "1");
    settings.put("queue.max-bytes", "8GiB"); // A training step's first request brings its weights.
    settings.put("server.http-port", "0");
    settings.put("sharing.offline-memory-percent", "100");
    settings.put("sharing.memory", "off");
    settings.put("sharing.memory-pressure", "off");
    settings.put("sharing.clock", "off");
    return settings;
  }

  private void measure(
      String name,
      Path folder,
      Map<String, String> settings,
      AskedModel job,
      AskedModel asked,
      Results results)
      throws Exception {
    Console.say(spec, "measuring " + name);
    LocalPipelane server = LocalPipelane.start(folder, options.work(), settings);
    try (PreemptRounds rounds = new PreemptRounds(server, job, asked, callers)) {
      for (int round = 0; round < options.rounds(); round++) {
        rounds.measure(name, runsARound(), results);
      }
      ModelVersion version = new ModelVersion(job.model(), 1);
      Console.say(spec, job.model() + ": " + server.devices().notes(version));
    }
  }
}
