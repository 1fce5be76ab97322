package io.pipelane.bench.switching;

import io.pipelane.bench.measure.Run;
import io.pipelane.bench.report.Provenance;
import io.pipelane.config.ByteSize;
import io.pipelane.config.DeviceSelection;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.importing.ImportSettings;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.graph.CutSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench switch}: what it costs to bring a model onto a device. */
@Command(
    name = "switch",
    description = {
      "Latency of models that are on the device, partly on it, and not on it at all, by Pipelane's",
      "way and by others; all in one run. bin/loadgen zoo writes models to measure."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class SwitchCommand implements Callable<Integer> {
  /** Finer than any model's layers. */
  private static final CutSettings PER_LAYER = new CutSettings(1, 10_000);

  private static final long HEADROOM_PAGES = 2;

  /** What there is to measure. */
  enum Part {
    PLAIN,
    GATED,
    COLD,
    STRUCTURE,
    LINK,
    ABLATIONS,
    HTTP,
    START
  }

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      description = "cpu, cuda or cuda:N (${DEFAULT-VALUE}).")
  private String device = "cpu";

  @Option(
      names = "--repository",
      paramLabel = "FOLDER",
      description = "The models' folder (${DEFAULT-VALUE}).")
  private Path repository = Path.of("zoo");

  @Option(
      names = "--model",
      arity = "1..*",
      required = true,
      paramLabel = "NAME",
      description = "Which models of it.")
  private List<String> models = new ArrayList<>();

  @Option(names = "--batch", paramLabel = "N", description = "Rows a request (${DEFAULT-VALUE}).")
  private int batch = 8;

  @Option(
      names = "--sequence",
      paramLabel = "N",
      description = "Tokens a row, for models of text (${DEFAULT-VALUE}).")
  private int sequence = 128;

  @Option(
      names = "--iterations",
      paramLabel = "N",
      description = "Times that each row is measured (${DEFAULT-VALUE}).")
  private int iterations = 100;

  @Option(
      names = "--warmup",
      paramLabel = "N",
      description = "Times that each row runs before (${DEFAULT-VALUE}).")
  private int warmup = 10;

  @Option(
      names = "--page-size",
      paramLabel = "SIZE",
      description = "Of device memory; 16MiB on a GPU and 2MiB on the CPU unless told otherwise.")
  private @Nullable String pageSize;

  @Option(
      names = "--part",
      split = ",",
      paramLabel = "PART",
      description = "Only some of ${COMPLETION-CANDIDATES}; may be repeated.")
  private Set<Part> parts = EnumSet.allOf(Part.class);

  @Option(
      names = "--work",
      paramLabel = "DIR",
      description = "Where derived files go (${DEFAULT-VALUE}).")
  private Path work = Path.of(".pipelane", "bench");

  @Option(
      names = "--peer",
      paramLabel = "FILE",
      description = "What PyTorch was measured to take on the same device; shown beside.")
  private @Nullable Path peer;

  @Option(names = "--json", paramLabel = "FILE", description = "Write all samples, too.")
  private @Nullable Path json;

  @Option(names = "--markdown", paramLabel = "FILE", description = "Write a page, too.")
  private @Nullable Path markdown;

  @Override
  public Integer call() throws Exception {
    work = Files.createDirectories(work.toAbsolutePath().normalize());
    Path library = OrtLibrary.locate(configuredLibrary(), work.resolve("cache"));
    Measurements measurements = new Measurements();
    Map<String, String> provenance = new LinkedHashMap<>();
    for (String name : models) {
      SwitchCase switchCase =
          SwitchCase.of(repository.toAbsolutePath().normalize(), name, batch, sequence);
      say("importing " + name);
      Imports imports = importModel(library, switchCase);
      measure(library, switchCase, imports, measurements.of(name), provenance);
    }
    if (peer != null) {
      Peer.read(peer, measurements);
    }
    provenance.put("command", String.join(" ", spec.commandLine().getParseResult().originalArgs()));
    publish(new SwitchReport(measurements, provenance));
    return 0;
  }
}
