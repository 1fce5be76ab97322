package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.UnshapedModels;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.catalog.RepositoryPoll;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A model whose file gives its inputs and outputs no shape at all. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnshapedInputsTest {
  private static final String DECLARED =
      """
      max_batch_size: 4
      input { name: "x" data_type: TYPE_FP32 dims: [ 32 ] }
      output { name: "y" data_type: TYPE_FP32 dims: [ 32 ] }
      """;

  @TempDir private Path folder = Path.of("");
  private OwnedRepository owned;

  UnshapedInputsTest() {}

  @BeforeEach
  void addModels() throws IOException {
    owned = new OwnedRepository(folder);
    owned.model("shaped", 1, 1);
    TestModels.write(
        UnshapedModels.of(TestModels.chain(2, OwnedRepository.WIDTH, 1)),
        owned.path("small/1/model.onnx"));
  }

  @AfterEach
  void close() {
    owned.close();
  }

  private static Entry entry(PipelaneServer server) {
    return OwnedRepository.index(server, "small").getFirst();
  }

  @Test
  void declaredForTriton_areServedAsIfTheFileHadTheShapes() throws Exception {
    owned.text("small/config.pbtxt", DECLARED);
    try (PipelaneServer server = owned.start()) {
      assertEquals(State.READY, entry(server).state(), entry(server)::reason);
      assertEquals(owned.answer(server, "shaped"), owned.answer(server, "small"));
      String metadata = owned.get(server, "models/small").body();
      assertTrue(metadata.contains("\"shape\":[-1,32]"), metadata);
      assertFalse(metadata.contains("\"shape\":[]"), metadata);
      assertEquals(
          OwnedRepository.index(server, "shaped").getFirst().notes(), entry(server).notes());
    }
  }

  @Test
  void declaredOrChangedLater_takeEffect() throws Exception {
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      assertEquals(400, owned.ask(server, "small").statusCode());
      owned.text("small/config.pbtxt", DECLARED);
      OwnedRepository.follow(poll);
      String answer = owned.answer(server, "small");
      owned.text("small/config.pbtxt", "input { name: \"x\" dims: [ 1, 32 ] }");
      OwnedRepository.follow(poll);
      assertEquals(answer, owned.answer(server, "small"));
      assertTrue(owned.get(server, "models/small").body().contains("\"shape\":[1,32]"));
      owned.text("small/config.pbtxt", "input { name: \"x\" dims: [ 1, 31 ] }");
      OwnedRepository.follow(poll);
      assertEquals(answer, owned.answer(server, "small"));
      String notes = entry(server).notes().toString();
      assertTrue(notes.contains("dims"), notes);
    }
  }

  @Test
  void undeclared_areScalarsAndTheIndexSaysWhatToDo() throws Exception {
    try (PipelaneServer server = owned.start()) {
      assertEquals(State.READY, entry(server).state(), entry(server)::reason);
      String notes = entry(server).notes().toString();
      assertTrue(notes.contains("\"x\" has no shape in the model's file"), notes);
      assertTrue(notes.contains("config.pbtxt"), notes);
      HttpResponse<String> refused = owned.ask(server, "small");
      assertEquals(400, refused.statusCode());
      assertTrue(refused.body().contains("dims in config.pbtxt"), refused.body());
      String shaped = OwnedRepository.index(server, "shaped").getFirst().notes().toString();
      assertFalse(shaped.contains("no shape"), shaped);
    }
  }
}
