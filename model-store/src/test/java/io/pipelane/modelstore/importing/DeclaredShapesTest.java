package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.Importer.EarlierRefusal;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.UnshapedModels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Imports, in real processes, of models to whose inputs the file gives no shape. */
@Timeout(120)
class DeclaredShapesTest {
  private static final Path NATIVES = SharedCache.folder();
  private static final ModelVersion VERSION = new ModelVersion("m", 1);
  private static final ModelProto CHAIN = TestModels.chain(2, TestModels.WIDTH, 1);
  private static final Map<String, Shape> SHAPES =
      Map.of("x", Shape.of(-1, TestModels.WIDTH), "y", Shape.of(-1, TestModels.WIDTH));

  @TempDir private Path folder = Path.of("");
  private Importer importer;

  DeclaredShapesTest() {}

  @BeforeEach
  void open() throws IOException {
    Path library = OrtLibrary.locate(Optional.empty(), NATIVES);
    importer = Importer.open(folder.resolve("cache"), ImportSettings.defaults(library, "1.28.0"));
  }

  private Path file(String name) {
    return folder.resolve(name + "/1/model.onnx");
  }

  private static Set<String> files(ImportedModel imported) throws IOException {
    try (Stream<Path> files = Files.list(imported.weights().getParent())) {
      return files.map(file -> file.getFileName().toString()).collect(Collectors.toSet());
    }
  }

  @Test
  void importModel_unshaped_isWhatItIsWithTheShapesInItsFile() throws IOException {
    ImportedModel shaped = importer.importModel(TestModels.write(CHAIN, file("s")), VERSION);
    Path file = TestModels.write(UnshapedModels.of(CHAIN), file("u"));
    ImportedModel declared = importer.importModel(file, VERSION, SHAPES, EarlierRefusal.HOLDS);
    assertEquals(unnamed(shaped.plan().inputs()), unnamed(declared.plan().inputs()));
    assertEquals(unnamed(shaped.plan().outputs()), unnamed(declared.plan().outputs()));
    assertEquals(shaped.plan().batching(), declared.plan().batching());
    assertEquals(shaped.plan().notes(), declared.plan().notes());
    assertEquals(shaped.plan().weightChecksum(), declared.plan().weightChecksum());
    assertEquals(files(shaped), files(declared));
  }

  /** Without what the file calls their dimensions, which whoever declares a shape cannot say. */
  private static List<TensorSpec> unnamed(List<TensorSpec> specs) {
    return specs.stream().map(TensorSpec::unnamed).toList();
  }

  @Test
  void importModel_shapesInItsFile_isFoundWhateverIsDeclared() throws IOException {
    Path file = TestModels.write(CHAIN, file("s"));
    Path gated = importer.importModel(file, VERSION).gatedModel();
    assertEquals(
        gated, importer.importModel(file, VERSION, SHAPES, EarlierRefusal.HOLDS).gatedModel());
    Path unshaped = TestModels.write(UnshapedModels.of(CHAIN), file("u"));
    Path scalar = importer.importModel(unshaped, VERSION).gatedModel();
    Path declared =
        importer.importModel(unshaped, VERSION, SHAPES, EarlierRefusal.HOLDS).gatedModel();
    assertNotEquals(scalar, declared);
    assertEquals(scalar, importer.importModel(unshaped, VERSION).gatedModel());
    assertEquals(
        declared,
        importer.importModel(unshaped, VERSION, SHAPES, EarlierRefusal.HOLDS).gatedModel());
  }

  @Test
  void importModel_unshapedWithExternalData_readsThem() throws IOException {
    ModelProto.Builder model = UnshapedModels.of(CHAIN).toBuilder();
    TensorProto weight = model.getGraph().getInitializer(0);
    Path data = Files.createDirectories(file("e").resolveSibling("deep")).resolve("weights.bin");
    Files.write(data, weight.getRawData().toByteArray());
    model
        .getGraphBuilder()
        .setInitializer(
            0,
            weight.toBuilder()
                .clearRawData()
                .setDataLocation(TensorProto.DataLocation.EXTERNAL)
                .addExternalData(
                    StringStringEntryProto.newBuilder()
                        .setKey("location")
                        .setValue("deep/weights.bin")));
    Path file = TestModels.write(model.build(), file("e"));
    ImportedModel imported = importer.importModel(file, VERSION, SHAPES, EarlierRefusal.HOLDS);
    ImportedModel inline = importer.importModel(TestModels.write(CHAIN, file("s")), VERSION);
    assertEquals(inline.plan().weightChecksum(), imported.plan().weightChecksum());
    assertTrue(
        imported.plan().notes().getFirst().startsWith("verified"),
        imported.plan().notes().toString());
    assertEquals(files(inline), files(imported));
  }

  @Test
  void importModel_shapeThatTheGraphCannotHave_isRefusedWithIt() throws IOException {
    Path file = TestModels.write(UnshapedModels.of(CHAIN), file("u"));
    StatusException refused =
        assertThrows(
            StatusException.class,
            () ->
                importer.importModel(
                    file, VERSION, Map.of("x", Shape.of(1, 31)), EarlierRefusal.HOLDS));
    assertEquals(Status.INVALID_ARGUMENT, refused.status());
    assertTrue(
        String.valueOf(refused.getMessage()).contains("gives them by dims: {\"x\":[1,31]}"),
        refused.getMessage());
  }
}
