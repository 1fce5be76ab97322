package io.pipelane.modelstore.importing;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.TensorMemory;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.graph.AssumedSizes;
import io.pipelane.runtime.graph.Convolutions;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.GateCutter;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.GraphTarget;
import io.pipelane.runtime.graph.HostCopies;
import io.pipelane.runtime.graph.InPlaceWeight;
import io.pipelane.runtime.graph.Repetition;
import io.pipelane.runtime.graph.UnshapedValues;
import io.pipelane.runtime.graph.ValueShapes;
import io.pipelane.runtime.graph.ValueSizes;
import io.pipelane.runtime.graph.WeightSelection;
import io.pipelane.runtime.graph.content.ConstantBytes;
import io.pipelane.runtime.graph.content.Constants;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.StructureHash;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The steps of one import, as the import process runs them. */
final class ImportJob {
  private static final System.Logger LOG = System.getLogger(ImportJob.class.getName());

  static final String GATED = "gated.onnx";
  static final String WEIGHTS = "weights.bin";
  static final String PLAN = "plan.json";

  private static final String OPTIMIZED = "optimized.onnx";
  private static final String CHANNELS_LAST = "channels-last.onnx";
  private static final String PLACED = "placed.onnx";
  private static final String REPACKED = "repacked.onnx";
  private static final String SHAPES = "shapes.onnx";
  private static final int ATTEMPTS = 8;

  private final Path modelFile;
  private final Path folder;
  private final Path runtimeLibrary;
  private final Optimization optimization;
  private final CutSettings cuts;
  private final ImportTarget target;
  private final ImportMemory memory = new ImportMemory();
  private final List<String> notes = new ArrayList<>();

  /**
   * Whether times were estimated by the shapes that {@link Plan.Segment} names, and these tell, as
   * nothing becomes as large as values say.
   */
  private boolean timesHold;

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
    ModelFile source = ModelFile.read(modelFile);
    Constants.externalFiles(source);
    try (OrtEnvironment environment =
            OrtEnvironment.open(runtimeLibrary, TensorMemory.HOST, target.provider(), memory);
        OrtSession plain = environment.open(modelFile, optimizing(false))) {
      requireNames(source.graph().getInputList());
      requireNames(source.graph().getOutputList());
      requireOutputs(plain.outputs());
      Answers answers = Answers.of(environment, plain, target);
      if (!target.mayTurnChannelsLast()
          || optimization == Optimization.NONE
          || !Convolutions.isIn(source.graph())
          || !cutChannelsLast(environment, plain, answers)) {
        cutUntilAccepted(environment, optimized(false), plain, answers, false);
      }
    }
    deleteWithData(OPTIMIZED);
    deleteWithData(CHANNELS_LAST);
  }

  /** ONNX Runtime's API ends a name where its first zero is, and knows none by what is left. */
  private static void requireNames(List<ValueInfoProto> values) {
    for (ValueInfoProto value : values) {
      if (value.getName().indexOf(0) >= 0) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "the name \"%s\" of an input or output has a zero character; rename it"
                .formatted(value.getName().replace("\0", "\\0")));
      }
    }
  }

  private static void requireOutputs(List<TensorSpec> outputs) {
    if (outputs.isEmpty()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "it has no outputs, so there is nothing to ask it for");
    }
    Set<String> names = new HashSet<>();
    for (TensorSpec output : outputs) {
      if (!names.add(output.name())) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "two of its outputs are named \"%s\"; leave one out".formatted(output.name()));
      }
    }
  }

  private void deleteWithData(String name) throws IOException {
    Files.deleteIfExists(folder.resolve(name));
    Files.deleteIfExists(folder.resolve(name + ".data"));
  }

  private SessionSettings optimizing(boolean channelsLast) {
    return SessionSettings.plain(1)
        .withProvider(target.exact(channelsLast))
        .withOptimizedModel(optimization, optimizedFile(channelsLast));
  }

  private Path optimizedFile(boolean channelsLast) {
    return folder.resolve(channelsLast ? CHANNELS_LAST : OPTIMIZED);
  }

  /** Its large constants stay in their file, which is read when they are taken out. */
  private ModelFile optimized(boolean channelsLast) throws IOException {
    return HostCopies.removed(
        Constants.toInitializers(ModelFile.read(optimizedFile(channelsLast))));
  }

  /** Tries the faster layout of convolutions; false when its answers are not the plain ones. */
  private boolean cutChannelsLast(OrtEnvironment environment, OrtSession plain, Answers answers)
      throws IOException {
    if (!answers.areKnown()) {
      notes.add("convolutions do not run channels last: nothing is known to compare with");
      return false;
    }
    try {
      environment.open(modelFile, optimizing(true)).close();
      cutUntilAccepted(environment, optimized(true), plain, answers, true);
      notes.add("convolutions run channels last");
      return true;
    } catch (StatusException | IllegalStateException e) {
      MachineFault.rethrow(e);
      notes.clear();
      notes.add("convolutions do not run channels last: " + e.getMessage());
      return false;
    }
  }

  private void cutUntilAccepted(
      OrtEnvironment environment,
      ModelFile optimized,
      OrtSession plain,
      Answers answers,
      boolean channelsLast)
      throws IOException {
    WeightSelection selection = target.graph().selection();
    ValueShapes shapes = shapes(environment, optimized, plain.inputs(), channelsLast);
    for (int attempt = 1; ; attempt++) {
      Map<String, TensorProto> weights = selection.select(optimized.graph());
      Set<String> keep;
      String reason;
      try {
        GatedGraph gated = cut(optimized, weights, shapes);
        ModelFile.write(gated.model(), folder.resolve(GATED));
        long checksum = WeightsFile.write(gated, weights, optimized, folder.resolve(WEIGHTS));
        WeightsFile.writeInPlace(gated, weights, optimized, inPlaceFile());
        Layout layout = Layout.of(gated, checksum);
        Answers.Comparison comparison =
            answers.compare(
                folder.resolve(GATED),
                layout,
                folder.resolve(WEIGHTS),
                inPlaceFile(),
                gatedSession(channelsLast),
                memory);
        GraphProto placed = takePlaced();
        keep = new HashSet<>(HostCopies.weightsRead(placed, weights.keySet()));
        keep.addAll(comparison.weightsOnHost());
        if (keep.isEmpty()) {
          notes.add(comparison.note());
          noteInPlace(layout);
          if (target.graph() == GraphTarget.GPU) {
            notes.add("host copies: " + HostCopies.count(placed));
          }
          if (target.graph() == GraphTarget.PROCESSOR) {
            layout = repacked(environment, gated, answers, layout);
          }
          Padding padding = answers.padding(plain);
          notes.add(padding.toString());
          Batching batching = answers.batching(plain);
          notes.add(batching.toString());
          PlanFile.write(
              plan(layout, plain, padding, batching, channelsLast, HostCopies.toHost(placed)),
              folder.resolve(PLAN));
          return;
        }
        reason = "the processor computes with them";
      } catch (StatusException | IllegalStateException e) {
        MachineFault.rethrow(e);
        reason = String.valueOf(e.getMessage());
        keep = Culprits.of(optimized.graph(), weights.keySet(), reason);
        if (weights.isEmpty() || (channelsLast && keep.isEmpty())) {
          throw e;
        }
        if (keep.isEmpty() || attempt == ATTEMPTS) {
          keep = weights.keySet();
        }
      }
      notes.add(
          "%d of %d weights stay in the session: %s"
              .formatted(keep.size(), weights.size(), reason));
      selection = selection.keeping(keep);
    }
  }

  /** By bytes and by time; by bytes alone where a gate cannot stand where time wants it. */
  private GatedGraph cut(
      ModelFile optimized, Map<String, TensorProto> weights, ValueShapes shapes) {
    try {
      return GateCutter.cut(optimized, weights, cuts, target.graph(), shapes);
    } catch (StatusException | IllegalStateException | NoSuchElementException e) {
      CutSettings byBytes = cuts.withLongestSegment(CutSettings.UNLIMITED);
      if (byBytes.equals(cuts)) {
        throw e;
      }
      GatedGraph gated = GateCutter.cut(optimized, weights, byBytes, target.graph(), shapes);
      notes.add("not cut by time: " + e.getMessage());
      return gated;
    }
  }

  /** The shapes that time is estimated by. */
  private ValueShapes shapes(
      OrtEnvironment environment,
      ModelFile optimized,
      List<TensorSpec> declaredInputs,
      boolean channelsLast)
      throws IOException {
    Map<String, TensorProto> weights = target.graph().selection().select(optimized.graph());
    Path file = folder.resolve(SHAPES);
    SessionSettings settings = askedSession(channelsLast);
    for (AssumedSizes sizes : List.of(AssumedSizes.USUAL, AssumedSizes.LEAST)) {
      try {
        ModelFile.write(ValueShapes.question(optimized, weights, sizes), file);
        try (OrtSession session = environment.open(file, settings)) {
          timesHold = sizes.equals(AssumedSizes.USUAL) && !ValueSizes.isIn(optimized.model());
          return ValueShapes.of(session.inputs(), session.outputs(), weights)
              .withSmallShare(sizes.shareOfSmall(declaredInputs));
        }
      } catch (StatusException | IllegalStateException e) {
        MachineFault.rethrow(e);
        LOG.log(System.Logger.Level.DEBUG, "no shapes with open dimensions of " + sizes, e);
      } finally {
        Files.deleteIfExists(file);
      }
    }
    timesHold = false;
    notes.add("shapes are not known; times of segments are guessed by the number of their nodes");
    return ValueShapes.UNKNOWN;
  }

  private Path inPlaceFile() {
    return folder.resolve(ImportedModel.IN_PLACE);
  }

  private void noteInPlace(Layout layout) {
    for (InPlaceWeight weight : layout.inPlace()) {
      notes.add(
          String.format(
              Locale.ROOT,
              "read in place from host memory: %s, %.1f MB",
              weight.name(),
              weight.byteSize() / 1e6));
    }
  }

  /** Lets kernels repack what they want to, where it can be checked that they still get it. */
  private Layout repacked(
      OrtEnvironment environment, GatedGraph gated, Answers answers, Layout layout)
      throws IOException {
    Path model = folder.resolve(REPACKED);
    Path weights = folder.resolve(REPACKED + ".bin");
    try {
      Repacker repacker = new Repacker(environment, memory, gated, folder.resolve(WEIGHTS));
      Optional<Layout> repacked =
          answers.areKnown() ? repacker.write(model, weights) : Optional.empty();
      if (repacked.isPresent()) {
        String note =
            answers
                .compare(model, repacked.get(), weights, inPlaceFile(), gatedSession(false), memory)
                .note();
        notes.add("%d weights repacked, ".formatted(repacked.get().repacked().size()) + note);
        Files.move(model, folder.resolve(GATED), StandardCopyOption.REPLACE_EXISTING);
        Files.move(weights, folder.resolve(WEIGHTS), StandardCopyOption.REPLACE_EXISTING);
        return repacked.get();
      }
    } catch (StatusException
        | IllegalStateException
        | IllegalArgumentException
        | IndexOutOfBoundsException e) {
      MachineFault.rethrow(e);
      notes.add("no weights repacked: " + e.getMessage());
    }
    Files.deleteIfExists(model);
    Files.deleteIfExists(weights);
    return layout;
  }

  /** Of a GPU's session the graph is written as its nodes were placed. */
  private SessionSettings gatedSession(boolean channelsLast) {
    SessionSettings settings = askedSession(channelsLast);
    return target.graph() == GraphTarget.GPU
        ? settings.withOptimizedModel(Optimization.NONE, folder.resolve(PLACED))
        : settings;
  }

  /** A session of a graph that is optimised already. */
  private SessionSettings askedSession(boolean channelsLast) {
    return new SessionSettings(
        target.exact(channelsLast), Optimization.NONE, 1, Optional.empty(), false, Map.of());
  }

  private GraphProto takePlaced() throws IOException {
    if (target.graph() == GraphTarget.PROCESSOR) {
      return GraphProto.getDefaultInstance();
    }
    GraphProto placed = ModelFile.read(folder.resolve(PLACED)).graph();
    deleteWithData(PLACED);
    return placed;
  }

  private Plan plan(
      Layout layout,
      OrtSession plain,
      Padding padding,
      Batching batching,
      boolean channelsLast,
      int broughtToHost)
      throws IOException {
    ModelProto model = ModelFile.read(folder.resolve(GATED)).model();
    return new Plan(
        StructureHash.of(model),
        plain.inputs(),
        plain.outputs(),
        layout.weights(),
        layout.repacked(),
        layout.inPlace(),
        timesHold
            ? layout.segments()
            : layout.segments().stream().map(Plan.Segment::withoutEstimate).toList(),
        layout.byteSize(),
        layout.checksum(),
        ConstantBytes.of(model.getGraph()),
        padding,
        batching,
        channelsLast,
        broughtToHost,
        Repetition.isIn(model),
        Stream.concat(notes.stream(), scalars(model.getGraph())).toList());
  }

  private static Stream<String> scalars(GraphProto graph) {
    return UnshapedValues.inputs(graph).stream()
        .map(
            input ->
                ("input \"%s\" has no shape in the model's file and is taken for a scalar; give its"
                        + " dims in config.pbtxt, or export the model with a shape")
                    .formatted(input));
  }
}
