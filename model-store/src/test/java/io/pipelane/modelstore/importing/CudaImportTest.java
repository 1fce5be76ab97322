package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Padding.Verdict;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.PatchModel;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.CutSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Imports for a GPU, in real processes; needs ONNX Runtime's CUDA provider in ORT_LIB_DIR. */
@Tag("gpu")
@Timeout(120)
class CudaImportTest {
  private static final Optional<Path> LIBRARIES =
      Optional.ofNullable(System.getenv("ORT_LIB_DIR")).map(Path::of);

  @TempDir Path folder;

  @BeforeEach
  void requireGpu() {
    assumeTrue(
        LIBRARIES.isPresent() && Files.exists(Path.of("/dev/nvidiactl")),
        "no GPU, or no ORT_LIB_DIR with ONNX Runtime's CUDA provider");
  }

  static Stream<ModelProto> models() {
    return Stream.of(
        TestModels.reshaped(4, 1),
        TestModels.branches(2),
        TestModels.middleOutput(3),
        TestModels.sharedWeight(4),
        TestModels.islands(5),
        TestModels.halfStored(4, 6),
        PatchModel.of(4, 7));
  }

  @ParameterizedTest
  @MethodSource("models")
  void importModel_isVerifiedAndCopiesNothingToTheHost(ModelProto model) throws IOException {
    Plan plan = plan(model, 1);
    String notes = plan.notes().toString();
    assertTrue(plan.notes().getFirst().startsWith("verified"), notes);
    assertTrue(plan.notes().contains("host copies: 0"), notes);
    assertEquals(Verdict.HARMLESS, plan.batchPadding().verdict(), notes);
    assertFalse(plan.weights().isEmpty());
  }

  /** Whose shapes a session would compute on the GPU if it were asked to turn layouts again. */
  @Test
  void importModel_shapesBesideAConvolution_areComputedOnTheHostChannelsLast() throws IOException {
    Plan plan = plan(PatchModel.of(4, 7), 1);
    String notes = plan.notes().toString();
    assertTrue(plan.channelsLast(), notes);
    assertTrue(plan.segments().size() > 2, notes);
    assertEquals(0, plan.broughtToHost(), notes);
  }

  /** Which a session would refuse to stream. */
  @Test
  void importModel_whatTheProcessorMultiplies_staysInTheSession() throws IOException {
    Plan plan = plan(TestModels.dynamicallyQuantized(3, 7), 1);
    String notes = plan.notes().toString();
    assertEquals(List.of(), plan.weights(), notes);
    assertTrue(notes.contains("stay in the session: the processor computes with them"), notes);
  }

  @Test
  void importModel_variantsWithOtherBiases_shareTheirStructure() throws IOException {
    Plan one = plan(TestModels.reshaped(4, 1), 1);
    Plan two = plan(TestModels.reshaped(4, 2), 2);
    assertEquals(one.structureHash(), two.structureHash());
    assertEquals(one.weights(), two.weights());
  }

  @Test
  void importModel_largeTable_isReadInPlaceUnlessThatIsOff() throws IOException {
    ModelProto model = TestModels.embedding(4, 8192, 8);
    Plan inPlace = plan(model, 1);
    String notes = inPlace.notes().toString();
    assertEquals(List.of("table"), inPlace.inPlace().stream().map(w -> w.name()).toList(), notes);
    assertEquals(8192L * TestModels.WIDTH * Float.BYTES, inPlace.inPlaceBytes());
    assertTrue(inPlace.notes().getFirst().startsWith("verified"), notes);
    assertTrue(notes.contains("read in place from host memory: table"), notes);
    Plan streamed = plan(model, 2, new CutSettings(1, 16, false, CutSettings.UNLIMITED));
    assertEquals(List.of(), streamed.inPlace(), streamed.notes()::toString);
    assertTrue(streamed.weightBytes() > inPlace.weightBytes() + inPlace.inPlaceBytes() - 1);
  }

  private Plan plan(ModelProto model, int version) throws IOException {
    return plan(model, version, new CutSettings(1, 16));
  }

  private Plan plan(ModelProto model, int version, CutSettings cuts) throws IOException {
    Path file = TestModels.write(model, folder.resolve("m/" + version + "/model.onnx"));
    ImportSettings settings =
        new ImportSettings(
            OrtLibrary.locate(LIBRARIES, folder),
            "cuda",
            Optimization.ALL,
            cuts,
            Duration.ofSeconds(100),
            ByteSize.ofMebibytes(4 << 10),
            ByteSize.ofMebibytes(64),
            ImportTarget.cuda(0, true, "the GPU of this test"));
    Importer importer = Importer.open(folder.resolve("cache"), settings);
    return importer.importModel(file, new ModelVersion("m", version)).plan();
  }
}
