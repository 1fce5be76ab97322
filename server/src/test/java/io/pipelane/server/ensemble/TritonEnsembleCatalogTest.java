package io.pipelane.server.ensemble;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.repository.IncomingVersion.Form;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.server.catalog.LoadOptions;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.protocol.ModelConfigs;
import io.pipelane.switcher.SpanningModels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ensembles as Triton's owners write them, in their folders and brought along by a load. */
class TritonEnsembleCatalogTest {
  private static final String BROUGHT_ALONG =
      """
      {"ensembleScheduling": {"step": [
        {"modelName": "echo", "inputMap": {"x": "in"}, "outputMap": {"y_x": "o"}}]}}
      """;

  @TempDir private Path folder = Path.of("");
  private final FakeCatalog models = FakeCatalog.usual();
  private EnsembleCatalog catalog = catalog();

  private EnsembleCatalog catalog() {
    return new EnsembleCatalog(models, new Repository(folder), SpanningModels.NONE, Runnable::run);
  }

  @BeforeEach
  void makeCatalog() {
    catalog = catalog();
  }

  private void declare(String file, String text) throws IOException {
    Path pipe = Files.createDirectories(folder.resolve("pipe"));
    Files.writeString(pipe.resolve(file), text);
    catalog.load("pipe").join();
  }

  @Test
  void resolve_ofTriton_hasWhatItsOwnerSays() throws IOException {
    declare("config.pbtxt", EnsembleRunTest.TRITONS);
    ServedModel pipe = catalog.resolve("pipe", "1");
    assertEquals(List.of("out", "middle"), pipe.outputs().stream().map(o -> o.name()).toList());
    assertEquals(Optional.of(16384), pipe.options().batching().maxRows());
    ModelConfig config = ModelConfigs.of(pipe, catalog.declared(pipe.version()));
    assertEquals("ensemble", config.getPlatform());
    assertEquals("", config.getBackend());
    assertEquals(2, config.getEnsembleScheduling().getStepCount());

    Files.writeString(
        folder.resolve("pipe/config.pbtxt"),
        EnsembleRunTest.TRITONS.replace("dims: [ 4 ]", "dims: [ 5 ]"));
    catalog.load("pipe").join();
    StatusException error = assertThrows(StatusException.class, () -> catalog.resolve("pipe", ""));
    assertEquals(Status.NOT_FOUND, error.status());
    assertTrue(
        String.valueOf(error.getMessage()).contains("\"in\" has the shape"), error::getMessage);
  }

  /** Nobody would be served it; and whether it has been loaded makes no difference. */
  @ParameterizedTest
  @ValueSource(strings = {"config.pbtxt", "pipelane.yaml"})
  void receive_intoAnEnsemblesFolder_isRefused(String file) throws IOException {
    Path pipe = Files.createDirectories(folder.resolve("pipe"));
    String text = file.equals("pipelane.yaml") ? EnsembleRunTest.CHAIN : EnsembleRunTest.TRITONS;
    Files.writeString(pipe.resolve(file), text);
    StatusException nowhere =
        assertThrows(StatusException.class, () -> catalog.receive("pipe", "2", Form.MODEL));
    assertEquals(Status.UNIMPLEMENTED, nowhere.status(), "this repository takes none");
    models.takeUploads(new RepositoryWriter(folder, new ByteSize(1), new Random(7)));
    StatusException refused =
        assertThrows(StatusException.class, () -> catalog.receive("pipe", "2", Form.MODEL));
    assertEquals(Status.INVALID_ARGUMENT, refused.status());
    String reason = String.valueOf(refused.getMessage());
    assertTrue(reason.startsWith("\"pipe\" is an ensemble"), reason);
    catalog.receive("echo", "3", Form.MODEL).close();
  }

  /** It stands for what the folder says until the next load, whatever becomes of the folder. */
  @Test
  void load_withAConfiguration_isThatEnsemble() throws IOException {
    declare("pipelane.yaml", EnsembleRunTest.CHAIN);
    catalog.load("pipe", with(BROUGHT_ALONG)).join();
    assertEquals("o", catalog.resolve("pipe", "").outputs().getFirst().name());
    catalog.reload("pipe").join();
    assertEquals("o", catalog.resolve("pipe", "").outputs().getFirst().name());
    Files.delete(folder.resolve("pipe/pipelane.yaml"));
    catalog.reload("pipe").join();
    assertEquals("o", catalog.resolve("pipe", "").outputs().getFirst().name());
    Files.writeString(folder.resolve("pipe/pipelane.yaml"), EnsembleRunTest.CHAIN);
    catalog.load("pipe", with("{}")).join();
    assertEquals("out", catalog.resolve("pipe", "").outputs().getFirst().name());
  }

  private static LoadOptions with(String config) {
    return new LoadOptions(Optional.empty(), Optional.of(config), Map.of());
  }

  /** Whoever brings it along must be allowed to load its models; the repository's owner chose. */
  @Test
  void load_withAConfiguration_asksForEachModel() throws IOException {
    declare("pipelane.yaml", EnsembleRunTest.CHAIN);
    Consumer<String> permission =
        model -> {
          throw new StatusException(Status.PERMISSION_DENIED, "not for model " + model);
        };
    CompletionException error =
        assertThrows(
            CompletionException.class,
            () -> catalog.load("pipe", with(BROUGHT_ALONG), permission).join());
    assertEquals("not for model echo", Objects.requireNonNull(error.getCause()).getMessage());
    assertEquals("out", catalog.resolve("pipe", "").outputs().getFirst().name());
    catalog.load("pipe", LoadOptions.NONE, permission).join();
  }
}
