package io.pipelane.lanes.execution;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.GateCutter;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.GraphTarget;
import io.pipelane.runtime.graph.InPlaceWeight;
import io.pipelane.runtime.graph.Repetition;
import io.pipelane.runtime.graph.WeightSelection;
import io.pipelane.runtime.graph.content.Constants;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.StructureHash;
import io.pipelane.runtime.graph.content.TensorContent;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Imports small models in this process, as they are: cut as finely as can be, not optimised. */
public final class TestImports {
  private TestImports() {}

  /** Writes every file that an imported model has into a folder of its own. */
  public static ImportedModel of(ModelProto model, String name, Path folder) throws IOException {
    return of(model, new ModelVersion(name, 1), folder);
  }

  public static ImportedModel of(ModelProto model, ModelVersion version, Path parent)
      throws IOException {
    return of(model, version, parent, new CutSettings(1, 64));
  }

  /** The same with everything streamed, tables included. */
  public static ImportedModel allStreamed(ModelProto model, String name, Path folder)
      throws IOException {
    CutSettings streamed = new CutSettings(1, 64, false, CutSettings.UNLIMITED);
    return of(model, new ModelVersion(name, 1), folder, streamed);
  }

  /** The same with a gate before each node, as if each took a second. */
  public static ImportedModel byTime(ModelProto model, String name, Path folder)
      throws IOException {
    CutSettings each = new CutSettings(1, 64).withLongestSegment(Duration.ofMillis(1));
    return of(model, new ModelVersion(name, 1), folder, each);
  }

  private static ImportedModel of(
      ModelProto model, ModelVersion version, Path parent, CutSettings cuts) throws IOException {
    Path folder = parent.resolve(version.model() + "-" + version.version());
    TestModels.write(model, folder.resolve("model.onnx"));
    ModelFile file = Constants.toInitializers(new ModelFile(model, folder));
    Map<String, TensorProto> weights = WeightSelection.DEFAULT.select(file.graph());
    GatedGraph gated =
        GateCutter.cut(file, weights, cuts, GraphTarget.PROCESSOR, TestModels.enormous(model));
    Path gatedModel = folder.resolve("gated.onnx");
    Path weightsFile = folder.resolve("weights.bin");
    ModelFile.write(gated.model(), gatedModel);
    writeWeights(gated, weights, folder, weightsFile);
    ImportedModel imported =
        new ImportedModel(version, plan(model, gated), gatedModel, weightsFile);
    writeInPlace(gated, weights, folder, imported.inPlaceWeights());
    return imported;
  }

  /** The same as if import had found that its requests may run together. */
  public static ImportedModel batched(ImportedModel model) {
    Plan batched =
        ChangedPlans.withBatching(
            model.plan(), new Batching(Batching.Verdict.AGREES, "so the test says"));
    return new ImportedModel(model.version(), batched, model.gatedModel(), model.weights());
  }

  private static void writeWeights(
      GatedGraph gated, Map<String, TensorProto> weights, Path folder, Path file)
      throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (GatedGraph.Weight weight : gated.weights()) {
        channel.position(weight.offset());
        TensorContent.of(Objects.requireNonNull(weights.get(weight.name())), folder)
            .writeTo(channel);
      }
    }
    byte[] padded = java.util.Arrays.copyOf(Files.readAllBytes(file), (int) gated.weightBytes());
    Files.write(file, padded);
  }

  private static void writeInPlace(
      GatedGraph gated, Map<String, TensorProto> weights, Path folder, Path file)
      throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (InPlaceWeight weight : gated.inPlace()) {
        channel.position(weight.offset());
        TensorContent.of(Objects.requireNonNull(weights.get(weight.name())), folder)
            .writeTo(channel);
      }
    }
  }

  private static Plan plan(ModelProto model, GatedGraph gated) {
    return new Plan(
        StructureHash.of(gated.model()),
        model.getGraph().getInputList().stream().map(TestImports::spec).toList(),
        model.getGraph().getOutputList().stream().map(TestImports::spec).toList(),
        Plan.weightsOf(gated),
        List.of(),
        gated.inPlace(),
        Plan.segmentsOf(gated),
        gated.weightBytes(),
        0,
        gated.model().getGraph().getInitializerList().stream()
            .mapToLong(TensorProto::getSerializedSize)
            .sum(),
        Padding.notApplicable("nobody has tried"),
        Batching.notApplicable("nobody has tried"),
        false,
        0,
        Repetition.isIn(gated.model()),
        List.of());
  }

  private static TensorSpec spec(ai.onnx.proto.OnnxMl.ValueInfoProto value) {
    var type = value.getType().getTensorType();
    long[] dimensions =
        type.getShape().getDimList().stream()
            .mapToLong(d -> d.hasDimValue() ? d.getDimValue() : -1)
            .toArray();
    return new TensorSpec(
        value.getName(),
        TensorType.ofOnnx(type.getElemType()),
        Shape.of(dimensions),
        type.getShape().getDimList().stream().map(d -> d.getDimParam()).toList());
  }
}
