package io.pipelane.modelstore.importing;

import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.TensorMemory;
import io.pipelane.runtime.graph.ConstantBytes;
import io.pipelane.runtime.graph.Constants;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.GateCutter;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.GraphTarget;
import io.pipelane.runtime.graph.HostCopies;
import io.pipelane.runtime.graph.ModelFile;
import io.pipelane.runtime.graph.PackedGraph;
import io.pipelane.runtime.graph.StructureHash;
import io.pipelane.runtime.graph.WeightSelection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
  private static final String PLACED = "placed.onnx";
  private static final int ATTEMPTS = 8;

  private final Path modelFile;
  private final Path folder;
  private final Path runtimeLibrary;
  private final Optimization optimization;
  private final CutSettings cuts;
  private final ImportTarget target;
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
      CutSettings cuts,
      ImportTarget target) {
    this.modelFile = modelFile;
    this.folder = folder;
    this.runtimeLibrary = runtimeLibrary;
    this.optimization = optimization;
    this.cuts = cuts;
    this.target = target;
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
        SessionSettings.plain(1)
            .withProvider(target.provider())
            .withOptimizedModel(optimization, optimizedFile);
    try (OrtEnvironment environment =
            OrtEnvironment.open(
                runtimeLibrary, TensorMemory.HOST, target.provider(), new NoDeviceMemory());
        OrtSession plain = environment.open(modelFile, optimizing)) {
      ModelFile optimized =
          HostCopies.removed(Constants.toInitializers(ModelFile.read(optimizedFile)));
      Answers answers = Answers.of(environment, plain, target);
      cutUntilAccepted(environment, optimized, plain, answers);
    }
    Files.delete(optimizedFile);
    Files.deleteIfExists(folder.resolve(OPTIMIZED + ".data"));
  }

  private void cutUntilAccepted(
      OrtEnvironment environment, ModelFile optimized, OrtSession plain, Answers answers)
      throws IOException {
    WeightSelection selection = target.graph().selection();
    for (int attempt = 1; ; attempt++) {
      Map<String, TensorProto> weights = selection.select(optimized.graph());
      Set<String> keep;
      try {
        GatedGraph gated = GateCutter.cut(optimized, weights, cuts, target.graph());
        ModelFile.write(gated.model(), folder.resolve(GATED));
        long checksum = WeightsFile.write(gated, weights, optimized, folder.resolve(WEIGHTS));
        String verdict;
        try (OrtSession session = environment.open(folder.resolve(GATED), gatedSession())) {
          verdict = answers.compare(session, gated, folder.resolve(WEIGHTS));
        }
        ModelFile.write(PackedGraph.of(optimized, gated, WEIGHTS), folder.resolve(PACKED));
        notes.add(verdict);
        noteHostCopies();
        Padding padding = answers.padding(plain);
        notes.add(padding.toString());
        PlanFile.write(plan(gated, plain, checksum, padding), folder.resolve(PLAN));
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

  /** Of a GPU's session the graph is written as its nodes were placed. */
  private SessionSettings gatedSession() {
    SessionSettings settings =
        new SessionSettings(
            target.provider(), Optimization.NONE, 1, Optional.empty(), false, Map.of());
    return target.graph() == GraphTarget.GPU
        ? settings.withOptimizedModel(Optimization.NONE, folder.resolve(PLACED))
        : settings;
  }

  private void noteHostCopies() throws IOException {
    if (target.graph() == GraphTarget.GPU) {
      Path placed = folder.resolve(PLACED);
      notes.add("host copies: " + HostCopies.count(ModelFile.read(placed).graph()));
      Files.delete(placed);
      Files.deleteIfExists(folder.resolve(PLACED + ".data"));
    }
  }

  private Plan plan(GatedGraph gated, OrtSession plain, long checksum, Padding padding) {
    return new Plan(
        StructureHash.of(gated.model()),
        plain.inputs(),
        plain.outputs(),
        Plan.weightsOf(gated),
        Plan.segmentsOf(gated),
        gated.weightBytes(),
        checksum,
        ConstantBytes.of(gated.model().getGraph()),
        padding,
        notes);
  }
}
