package io.pipelane.bench.links;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Results;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.account.Ledger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench links}: a cold model whose weights come in over one link, and over several. */
@Command(
    name = "links",
    description =
        "A cold model whose weights come in over its device's link alone, and over those "
            + "of other devices too, and what a model on one of those loses by it.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class LinksCommand implements Callable<Integer> {
  private static final long LEAST_MEMORY = 256L << 20;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions requests = AcceleratorOptions.ofSeveral();

  @Option(
      names = "--repository",
      paramLabel = "FOLDER",
      description = "Where the models lie; else they are made.")
  private @Nullable Path folder;

  @Option(
      names = "--model",
      split = ",",
      paramLabel = "NAME",
      description = "Models, or beginnings of cases (${DEFAULT-VALUE}).")
  private List<String> names = List.of("minilm-l6-v2 128");

  @Option(
      names = "--link",
      paramLabel = "RATE",
      description = "Of each CPU device (${DEFAULT-VALUE}).")
  private String link = "1GB/s";

  @Override
  public Integer call() throws Exception {
    List<DeviceSelection> selections = selections();
    AskedModels models = new AskedModels(options.work(), requests, folder);
    Results results = new Results(LinksColumns.TITLE, LinksColumns.ALL, LinksColumns.NOTES);
    String runtime = "";
    for (String name : names) {
      AskedModel asked = models.find(name);
      Path repository = options.work().resolve("links-" + asked.model());
      List<String> copies = ModelCopies.write(repository, asked.file(), asked.model(), 2);
      long weightBytes = 0;
      for (int count = 1; count <= selections.size(); count++) {
        Console.say(spec, "%s over %d".formatted(asked.name(), count));
        Map<String, String> settings = settings(asked, selections.get(count - 1));
        if (requests.device() instanceof DeviceSelection.Cpu) {
          LocalPipelane.calibrate(options.work(), settings);
        }
        try (LocalPipelane server = LocalPipelane.start(repository, options.work(), settings)) {
          runtime = server.runtimeVersion();
          List<Tensor> inputs = server.inputs(asked, copies.getFirst());
          String row = "%s, %d %s".formatted(asked.name(), count, count == 1 ? "link" : "links");
          LinkRounds rounds = new LinkRounds(server, row, copies, inputs);
          weightBytes = weightBytes(server);
          rounds.warmUp(options.warmup());
          for (int round = 0; round < options.rounds(); round++) {
            rounds.measure(options.length(), results);
            if (count > 1) {
              rounds.measureBeside(options.length(), results);
            }
          }
        }
      }
      if (selections.size() > 1) {
        measurePeers(asked, selections.get(1), weightBytes, results);
      }
    }
    options.publish(
        spec,
        results,
        runtime,
        Map.of("devices", requests.device().toString(), "link", linkText()));
    return 0;
  }

  /** Two models in turns, without other devices' memory and with it. */
  private void measurePeers(
      AskedModel asked, DeviceSelection devices, long weightBytes, Results results)
      throws Exception {
    Path repository = options.work().resolve("peers-" + asked.model());
    List<String> copies = ModelCopies.write(repository, asked.file(), asked.model(), 3);
    for (boolean peers : List.of(false, true)) {
      Map<String, String> settings = settings(asked, devices);
      settings.put("device.memory", Long.toString(weightBytes * 3 / 2));
      if (devices instanceof DeviceSelection.Cpu) {
        settings.put("device.page-size", "64KiB"); // Small models fit in pages of 2 MiB at once.
      }
      settings.put("placement.peer-memory", Boolean.toString(peers));
      settings.put("residency.idle-prefetch", "true");
      String row =
          "%s, in turns, %s"
              .formatted(asked.name(), peers ? "out of the other's memory" : "from the host");
      Console.say(spec, row);
      try (LocalPipelane server = LocalPipelane.start(repository, options.work(), settings)) {
        List<Tensor> inputs = server.inputs(asked, copies.getFirst());
        PeerRounds rounds = new PeerRounds(server, row, neighbours(server, copies), inputs);
        rounds.warmUp(options.warmup());
        for (int round = 0; round < options.rounds(); round++) {
          rounds.measure(options.length(), results);
        }
      }
    }
  }

  /** Two models of one device; of three on two devices two must share one. */
  private static List<String> neighbours(LocalPipelane server, List<String> copies) {
    return copies.stream()
        .collect(Collectors.groupingBy(name -> server.devices().devices(new ModelVersion(name, 1))))
        .values()
        .stream()
        .filter(names -> names.size() > 1)
        .map(names -> names.subList(0, 2))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no two of " + copies + " share a device"));
  }

  /** Of one of several alike. */
  private static long weightBytes(LocalPipelane server) {
    return server.devices().states().values().stream()
        .flatMap(state -> state.memory().weights().entries().stream())
        .mapToLong(Ledger.Entry::weightBytes)
        .max()
        .orElseThrow();
  }

  private String linkText() {
    return requests.device() instanceof DeviceSelection.Cpu ? link : "the GPUs' own";
  }

  /** The first device, the first two, and so on. */
  private List<DeviceSelection> selections() {
    List<Integer> ordinals = requests.ordinals();
    Function<List<Integer>, DeviceSelection> kind =
        requests.device() instanceof DeviceSelection.Cpu
            ? DeviceSelection.Cpu::new
            : DeviceSelection.Cuda::new;
    List<DeviceSelection> selections = new ArrayList<>();
    for (int count = 1; count <= ordinals.size(); count++) {
      selections.add(kind.apply(ordinals.subList(0, count)));
    }
    return selections;
  }

  private Map<String, String> settings(AskedModel asked, DeviceSelection devices) throws Exception {
    Map<String, String> settings = new HashMap<>(requests.serverSettings(options.work()));
    settings.put("device.kind", devices.toString());
    settings.put("device.memory", Long.toString(LEAST_MEMORY + 4 * Files.size(asked.file())));
    settings.put("device.working-memory", "4GiB");
    settings.put("device.lanes", "1");
    settings.put("workers.isolation", "thread");
    settings.put("placement.routing", "static");
    settings.put("switching.share-structures", "never");
    settings.put("residency.idle-prefetch", "false");
    settings.put("placement.peer-memory", "false");
    if (devices instanceof DeviceSelection.Cpu) {
      settings.put("link.bandwidth", link);
    }
    return settings;
  }
}
