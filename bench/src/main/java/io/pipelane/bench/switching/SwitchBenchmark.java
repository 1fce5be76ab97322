package io.pipelane.bench.switching;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.accelerator.CudaAccelerator;
import io.pipelane.bench.accelerator.HeldWeights;
import io.pipelane.bench.accelerator.ModelCase;
import io.pipelane.bench.local.PlainSession;
import io.pipelane.bench.switching.SwitchCommand.Part;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.modelstore.importing.ImportSettings;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.GraphTarget;
import io.pipelane.switcher.grouping.PipelineCosts;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The import of models and the measurement of the parts wanted, one model after another, in this
 * process.
 */
final class SwitchBenchmark {
  /** Finer than any model's layers. */
  private static final Set<Part> OF_LAYERS = Set.of(Part.COLD, Part.ABLATIONS);

  private final Accelerator accelerator;
  private final Path library;
  private final Set<Part> parts;
  private final int warmup;
  private final int iterations;
  private final String runtimeVersion;
  private final PipelineCosts costs;
  private final Importer grouped;
  private final Importer layered;

  /** Of what worker processes can run: on the processor they read no weights in place. */
  private final Importer apart;

  SwitchBenchmark(
      Accelerator accelerator,
      Path library,
      Path work,
      CutSettings cuts,
      Set<Part> parts,
      int warmup,
      int iterations)
      throws IOException {
    this.accelerator = accelerator;
    this.library = library;
    this.parts = parts;
    this.warmup = warmup;
    this.iterations = iterations;
    runtimeVersion = accelerator.runtimeVersion();
    costs = accelerator.costs();
    ImportSettings settings =
        ImportSettings.defaults(library, runtimeVersion).withTarget(accelerator.target());
    grouped = Importer.open(work.resolve("cache"), settings.withCuts(cuts));
    boolean inPlace = cuts.readInPlace() && accelerator.target().graph() == GraphTarget.GPU;
    CutSettings forWorkers =
        new CutSettings(
            cuts.minimumSegmentBytes(), cuts.maximumSegments(), inPlace, CutSettings.UNLIMITED);
    apart = Importer.open(work.resolve("cache"), settings.withCuts(forWorkers));
    CutSettings perLayer = new CutSettings(1, 10_000, cuts.readInPlace(), CutSettings.UNLIMITED);
    layered = Importer.open(work.resolve("cache"), settings.withCuts(perLayer));
  }

  /** ONNX Runtime's version. */
  String runtimeVersion() {
    return runtimeVersion;
  }

  /** What transfers cost on the accelerator. */
  PipelineCosts costs() {
    return costs;
  }

  /**
   * Measures one model.
   *
   * @return the inputs that it was asked with
   */
  List<Tensor> measure(ModelCase modelCase, Measured measured) throws Exception {
    ImportedModel groups = grouped.importModel(modelCase.file(), modelCase.version());
    ImportedModel layers =
        Collections.disjoint(parts, OF_LAYERS)
            ? groups
            : layered.importModel(modelCase.file(), modelCase.layered());
    List<Tensor> inputs = modelCase.inputs(groups);
    ModelRounds rounds =
        new ModelRounds(accelerator, costs, inputs, groups, layers, warmup, iterations, measured);
    if (parts.contains(Part.LINK)) {
      rounds.measureLink();
    }
    if (parts.contains(Part.PLAIN)) {
      rounds.expect(measurePlain(modelCase, inputs, measured));
    }
    if (parts.contains(Part.GATED) && accelerator.captures()) {
      rounds.measureUncaptured();
    }
    if (parts.contains(Part.COLD)) {
      rounds.measureCold();
    }
    if (parts.contains(Part.ISOLATION)) {
      ImportedModel model = apart.importModel(modelCase.file(), modelCase.version());
      MemorySource weights =
          model.equals(groups) ? rounds.weights() : HeldWeights.read(model, accelerator::pinned);
      new IsolationRounds(accelerator, costs, model, weights, inputs, warmup, iterations, measured)
          .measure();
    }
    if (parts.contains(Part.STRUCTURE)) {
      rounds.measureStructureCold();
    }
    if (parts.contains(Part.ABLATIONS)) {
      rounds.measureOtherCopies();
      // Whose weights lie in memory of its own; tables in place have no place there.
      if (accelerator instanceof CudaAccelerator cuda && groups.plan().inPlace().isEmpty()) {
        try (CudaAblations ablations =
            new CudaAblations(cuda, groups, inputs, warmup, iterations)) {
          ablations.measure(measured);
        }
      }
    }
    return inputs;
  }

  private Map<String, byte[]> measurePlain(
      ModelCase modelCase, List<Tensor> inputs, Measured measured) throws Exception {
    try (PlainSession plain =
        new PlainSession(
            library, modelCase.file(), accelerator.provider(), inputs, accelerator::pinned)) {
      Contestant contestant = new Contestant(Row.PLAIN, () -> {}, plain);
      Contestant.measure(List.of(contestant), warmup, iterations, measured);
      return plain.answer();
    }
  }
}
