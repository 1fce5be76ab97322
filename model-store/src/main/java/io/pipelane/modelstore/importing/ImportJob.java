package io.pipelane.modelstore.importing;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.graph.ConstantBytes;
import io.pipelane.runtime.graph.Constants;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.GateCutter;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.ModelFile;
import io.pipelane.runtime.graph.PackedGraph;
import io.pipelane.runtime.graph.StructureHash;
import io.pipelane.runtime.graph.WeightSelection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The steps of one import, as the import process runs them. */
final class ImportJob {
  static final String GATED = "gated.onnx";
  static final String PACKED = "packed.onnx";
  static final String WEIGHTS = "weights.bin";
  static final String PLAN = "plan.json";

  private static final String OPTIMIZED = "optimized.onnx";
  private static final String REPACKED = "repacked.onnx";
  private static final int ATTEMPTS = 8;

  private final Path modelFile;
  private final Path folder;
  private final Path runtimeLibrary;
  private final Optimization optimization;
  private final CutSettings cuts;
  private final ImportMemory memory = new ImportMemory();
  private final List<String> notes = new ArrayList<>();

  /**
   * An import.
   *
   * @param folder empty; the derived files are left in it
   */
  ImportJob(
      Path modelFile,
      Path folder,
      Path runtimeLibrary,
      Optimization optimization,
      CutSettings cuts) {
    this.modelFile = modelFile;
    this.folder = folder;
    this.runtimeLibrary = runtimeLibrary;
    this.optimization = optimization;
    this.cuts = cuts;
  }

  /**
   * Runs the import.
   *
   * @throws StatusException when the model is refused
   */
  void run() throws IOException {
    Constants.externalFiles(ModelFile.read(modelFile));
    Path optimizedFile = folder.resolve(OPTIMIZED);
    SessionSettings optimizing =
        SessionSettings.plain(1).withOptimizedModel(optimization, optimizedFile);
    try (OrtEnvironment environment = OrtEnvironment.open(runtimeLibrary, memory);
        OrtSession plain = environment.open(modelFile, optimizing)) {
      ModelFile optimized = Constants.toInitializers(ModelFile.read(optimizedFile));
      Answers answers = Answers.of(environment, plain);
      cutUntilAccepted(environment, optimized, plain, answers);
    }
    Files.delete(optimizedFile);
    Files.deleteIfExists(folder.resolve(OPTIMIZED + ".data"));
  }

  private void cutUntilAccepted(
      OrtEnvironment environment, ModelFile optimized, OrtSession plain, Answers answers)
      throws IOException {
    WeightSelection selection = WeightSelection.DEFAULT;
    for (int attempt = 1; ; attempt++) {
      Map<String, TensorProto> weights = selection.select(optimized.graph());
      Set<String> keep;
      try {
        GatedGraph gated = GateCutter.cut(optimized, weights, cuts);
        ModelFile.write(gated.model(), folder.resolve(GATED));
        long checksum = WeightsFile.write(gated, weights, optimized, folder.resolve(WEIGHTS));
        Layout layout = Layout.of(gated, checksum);
        String verdict =
            answers.compare(folder.resolve(GATED), layout, folder.resolve(WEIGHTS), memory);
        notes.add(verdict);
        PlanFile.write(
            plan(repacked(environment, gated, answers, optimized, layout), plain),
            folder.resolve(PLAN));
        return;
      } catch (StatusException | IllegalStateException e) {
        if (weights.isEmpty()) {
          throw e;
        }
        String reason = String.valueOf(e.getMessage());
        keep = Culprits.of(optimized.graph(), weights.keySet(), reason);
        if (keep.isEmpty() || attempt == ATTEMPTS) {
          keep = weights.keySet();
        }
        notes.add(
            "%d of %d weights stay in the session: %s"
                .formatted(keep.size(), weights.size(), reason));
      }
      selection = selection.keeping(keep);
    }
  }

  /** Lets kernels repack what they want to, where it can be checked that they still get it. */
  private Layout repacked(
      OrtEnvironment environment,
      GatedGraph gated,
      Answers answers,
      ModelFile optimized,
      Layout layout)
      throws IOException {
    Path model = folder.resolve(REPACKED);
    Path weights = folder.resolve(REPACKED + ".bin");
    try {
      Repacker repacker = new Repacker(environment, memory, gated, folder.resolve(WEIGHTS));
      Optional<Layout> repacked =
          answers.areKnown() ? repacker.write(model, weights) : Optional.empty();
      if (repacked.isPresent()) {
        String verdict = answers.compare(model, repacked.get(), weights, memory);
        notes.add("%d weights repacked, ".formatted(repacked.get().repacked().size()) + verdict);
        Files.move(model, folder.resolve(GATED), StandardCopyOption.REPLACE_EXISTING);
        Files.move(weights, folder.resolve(WEIGHTS), StandardCopyOption.REPLACE_EXISTING);
        return repacked.get();
      }
    } catch (StatusException | IllegalStateException e) {
      notes.add("no weights repacked: " + e.getMessage());
    }
    Files.deleteIfExists(model);
    Files.deleteIfExists(weights);
    ModelFile.write(PackedGraph.of(optimized, gated, WEIGHTS), folder.resolve(PACKED));
    return layout;
  }

  private Plan plan(Layout layout, OrtSession plain) throws IOException {
    ModelProto model = ModelFile.read(folder.resolve(GATED)).model();
    return new Plan(
        StructureHash.of(model),
        plain.inputs(),
        plain.outputs(),
        layout.weights(),
        layout.repacked(),
        layout.segments(),
        layout.byteSize(),
        layout.checksum(),
        ConstantBytes.of(model.getGraph()),
        notes);
  }
}
