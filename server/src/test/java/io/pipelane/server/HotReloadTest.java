package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.catalog.LoadOptions;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.catalog.RepositoryPoll;
import io.pipelane.server.net.CapturedLog;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server that follows its folder of models, which is looked at when the test says so. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HotReloadTest {
  @TempDir private Path folder = Path.of("");
  private OwnedRepository owned;

  HotReloadTest() {}

  @BeforeEach
  void addModel() throws Exception {
    owned = new OwnedRepository(folder);
    owned.model("small", 1, 1);
  }

  @AfterEach
  void close() {
    owned.close();
  }

  @Test
  void changedContent_isReplacedWithoutAFailedRequest() throws Exception {
    owned.text(
        "chain/pipelane.yaml",
        """
        ensemble:
          steps:
            - {model: small, version: 1, inputs: {x: x}, outputs: {y: y}}
        """);
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      Set<String> contents = new HashSet<>();
      contents.add(owned.answer(server, "small"));
      List<String> answers =
          owned.askWhile(
              server,
              List.of("small", "small/versions/1", "chain"),
              () -> {
                for (int seed = 12; seed < 15; seed++) { // Which nothing has imported.
                  owned.model("small", 1, seed);
                  OwnedRepository.follow(poll);
                  assertTrue(contents.add(owned.answer(server, "small")), "it is as before");
                }
              });
      OwnedRepository.requireKnown(contents, answers);
      assertEquals(List.of(new Entry("small", "1", State.READY, "")), plain(server, "small"));
      assertEquals(
          1, server.devices().memory().values().iterator().next().weights().entries().size());
      int counted =
          owned.get(server, "models/stats").body().split("\"name\":\"small\"", -1).length - 1;
      assertEquals(1, counted, "the version's editions count together");
      assertEquals(
          200,
          owned
              .send(
                  java.net.http.HttpRequest.newBuilder(
                      java.net.URI.create(server.url() + "/metrics")))
              .statusCode());
      assertTrue(server.devices().devices(new ModelVersion("small", 1)).size() == 1);
      server.devices().verify();
    }
  }

  /** As jobs and other hosts know contents. */
  @Test
  void changedContentOfAModel_isAnotherContentOfItsEnsembles() throws Exception {
    String step =
        "ensemble:\n  steps:\n    - {model: small, version: 1, inputs: {x: %s}, outputs: {y: y}}\n";
    owned.text("chain/pipelane.yaml", step.formatted("x"));
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      String before = server.catalog().resolve("chain", "").content();
      assertFalse(before.isEmpty());
      assertEquals(before, server.catalog().resolve("chain", "").content());
      owned.model("small", 1, 31);
      OwnedRepository.follow(poll);
      String replaced = server.catalog().resolve("chain", "").content();
      assertNotEquals(before, replaced);
      owned.text("chain/pipelane.yaml", step.formatted("in"));
      OwnedRepository.follow(poll);
      assertNotEquals(replaced, server.catalog().resolve("chain", "").content());
      owned.model("small", 1, 1);
      owned.text("chain/pipelane.yaml", step.formatted("x"));
      OwnedRepository.follow(poll);
      assertEquals(before, server.catalog().resolve("chain", "").content());
    }
  }

  /** What is left of the one before, for whatever reason, is no fault of the next one. */
  @Test
  void changedContent_thatServes_isNotToldToBeRefused() throws Exception {
    try (PipelaneServer server = owned.start()) {
      String before = owned.answer(server, "small");
      server.devices().deregister(new ModelVersion("small", 1)); // So it cannot leave once more.
      owned.model("small", 1, 41);
      HttpResponse<String> load = owned.post(server, "repository/models/small/load", "");
      assertEquals(200, load.statusCode(), load.body());
      assertNotEquals(before, owned.answer(server, "small"));
      assertEquals(List.of(new Entry("small", "1", State.READY, "")), plain(server, "small"));
    }
  }

  /** They wait for online ones, or run, when what they were taken for goes. */
  @Test
  void changedContent_offlineRequestsAreUnderWay_nobodyIsToldThatThereIsNoModel() throws Exception {
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      Set<String> contents = new HashSet<>();
      contents.add(owned.answer(server, "small"));
      List<String> answers =
          owned.askWhile(
              List.of(
                  () -> owned.answer(server, "small"),
                  () -> owned.answerOffline(server, "small"),
                  () -> owned.answerOffline(server, "small"),
                  () -> owned.answerOffline(server, "small/versions/1")),
              () -> {
                for (int seed = 22; seed < 26; seed++) { // Which nothing has imported.
                  owned.model("small", 1, seed);
                  OwnedRepository.follow(poll);
                  assertTrue(contents.add(owned.answer(server, "small")), "it is as before");
                }
              });
      OwnedRepository.requireKnown(contents, answers);
      server.devices().verify();
    }
  }

  private static List<Entry> plain(PipelaneServer server, String model) {
    return OwnedRepository.index(server, model).stream()
        .map(entry -> new Entry(entry.name(), entry.version(), entry.state(), entry.reason()))
        .toList();
  }

  @Test
  void modelsAndVersions_comeAndGo() throws Exception {
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      owned.model("other", 1, 2);
      owned.model("small", 2, 3);
      owned.text(
          "chain/pipelane.yaml",
          "ensemble: {steps: [{model: small, inputs: {x: x}, outputs: {y: y}}]}");
      poll.look().join();
      assertEquals(404, owned.ask(server, "other").statusCode());
      poll.look().join();
      assertEquals(200, owned.ask(server, "other").statusCode());
      assertEquals(owned.answer(server, "small/versions/2"), owned.answer(server, "chain"));
      owned.text(
          "chain/pipelane.yaml",
          "ensemble: {steps: [{model: small, version: 1, inputs: {x: x}, outputs: {y: y}}]}");
      owned.remove("other");
      OwnedRepository.follow(poll);
      assertEquals(owned.answer(server, "small/versions/1"), owned.answer(server, "chain"));
      assertEquals(List.of(), plain(server, "other"));
      owned.text("small/config.pbtxt", "version_policy { specific { versions: 1 } }\n");
      owned.remove("chain");
      OwnedRepository.follow(poll);
      assertEquals(404, owned.ask(server, "small/versions/2").statusCode());
      assertEquals(404, owned.ask(server, "chain").statusCode());
      owned.remove("small/2");
      owned.text("small/pipelane.yaml", "limits: {request-size: 10B}\n");
      OwnedRepository.follow(poll);
      assertEquals(413, owned.ask(server, "small").statusCode());
      owned.remove("small");
      OwnedRepository.follow(poll);
      assertEquals(List.of(), server.catalog().index());
      assertEquals(
          0, server.devices().memory().values().iterator().next().weights().entries().size());
      server.devices().verify();
    }
  }

  @Test
  void whatIsRefused_leavesTheOldInServiceAndTheIndexSaysWhy() throws Exception {
    owned.text(
        "chain/pipelane.yaml",
        "ensemble: {steps: [{model: small, inputs: {x: x}, outputs: {y: y}}]}");
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      String before = owned.answer(server, "small");
      Files.writeString(owned.path("small/1/model.onnx"), "no model");
      owned.text("chain/pipelane.yaml", "ensemble: {steps: 3}");
      OwnedRepository.follow(poll);
      assertEquals(before, owned.answer(server, "small"));
      assertEquals(before, owned.answer(server, "chain"));
      Entry entry = OwnedRepository.index(server, "small").getFirst();
      assertEquals(State.READY, entry.state());
      assertTrue(entry.notes().getFirst().contains("is refused"), entry.toString());
      Entry chain = OwnedRepository.index(server, "chain").getFirst();
      assertTrue(chain.notes().getLast().contains("is refused"), chain.toString());
      owned.model("small", 1, 2);
      owned.text(
          "chain/pipelane.yaml",
          "ensemble: {steps: [{model: small, inputs: {x: x}, outputs: {y: z}}]}");
      OwnedRepository.follow(poll);
      assertNotEquals(before, owned.answer(server, "small"));
      assertTrue(owned.ask(server, "chain").body().contains("\"z\""));
      assertTrue(
          OwnedRepository.index(server, "small").getFirst().notes().stream()
              .noneMatch(note -> note.contains("refused")));
      server.devices().verify();
    }
  }

  @Test
  void whatAnOwnerHasSaid_stands() throws Exception {
    owned.text(
        "chain/pipelane.yaml",
        "ensemble: {steps: [{model: small, inputs: {x: x}, outputs: {y: y}}]}");
    owned.model("kept", 1, 4);
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      server.catalog().unload("small").join();
      server.catalog().unload("chain").join();
      server
          .catalog()
          .load(
              "kept",
              new LoadOptions(Optional.empty(), Optional.of("{\"max_batch_size\": 8}"), Map.of()))
          .join();
      owned.model("small", 1, 2);
      owned.model("small", 2, 3);
      owned.model("kept", 1, 5);
      owned.text(
          "chain/pipelane.yaml",
          "ensemble: {steps: [{model: small, inputs: {x: x}, outputs: {y: z}}]}");
      OwnedRepository.follow(poll);
      assertEquals(404, owned.ask(server, "small").statusCode());
      assertEquals(404, owned.ask(server, "chain").statusCode());
      assertTrue(owned.get(server, "models/kept/config").body().contains("\"max_batch_size\":8"));
      server.catalog().load("small").join();
      server.catalog().load("chain").join();
      assertEquals(owned.answer(server, "small/versions/2"), owned.answer(server, "small"));
      assertTrue(owned.ask(server, "chain").body().contains("\"z\""));
      server.catalog().unload("small").join();
      owned.remove("small");
      OwnedRepository.follow(poll);
      assertEquals(List.of(), plain(server, "small"));
    } catch (StatusException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void changedState_isKeptFromThenOn() throws Exception {
    TestModels.write(TestModels.recurrent(OwnedRepository.WIDTH), owned.path("sum/1/model.onnx"));
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      assertFalse(server.catalog().resolve("sum", "").keepsState());
      owned.text("sum/pipelane.yaml", "state: {t: s}\n");
      OwnedRepository.follow(poll);
      assertEquals(400, owned.ask(server, "sum").statusCode(), "it is of no sequence");
      String begin =
          OwnedRepository.REQUEST.replaceFirst(
              "\\{", "{\"parameters\":{\"sequence_id\":1,\"sequence_start\":true},");
      String next = begin.replace(",\"sequence_start\":true", "");
      String first = OwnedRepository.data(sum(server, begin));
      assertNotEquals(first, OwnedRepository.data(sum(server, next)));
      assertEquals(first, OwnedRepository.data(sum(server, begin)));
      Files.delete(owned.path("sum/pipelane.yaml"));
      OwnedRepository.follow(poll);
      assertFalse(server.catalog().resolve("sum", "").keepsState());
      assertEquals(400, owned.post(server, "models/sum/infer", begin).statusCode());
      assertEquals(
          1,
          server.devices().memory().values().iterator().next().weights().entries().stream()
              .filter(entry -> entry.model().model().equals("sum"))
              .count());
      server.devices().verify();
    }
  }

  private String sum(PipelaneServer server, String body) throws Exception {
    HttpResponse<String> response = owned.post(server, "models/sum/infer", body);
    assertEquals(200, response.statusCode(), response.body());
    return response.body();
  }

  @Test
  void modelThatWasAnEnsembleForAWhile_isServedAgain() throws Exception {
    owned.model("turns", 1, 2);
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      String own = owned.answer(server, "turns");
      owned.text(
          "turns/pipelane.yaml",
          "ensemble: {steps: [{model: small, inputs: {x: x}, outputs: {y: y}}]}");
      OwnedRepository.follow(poll);
      assertEquals(owned.answer(server, "small"), owned.answer(server, "turns"));
      owned.remove("turns/pipelane.yaml");
      OwnedRepository.follow(poll);
      assertEquals(own, owned.answer(server, "turns"));
      server.catalog().unload("turns").join();
      owned.model("turns", 1, 3);
      OwnedRepository.follow(poll);
      assertEquals(404, owned.ask(server, "turns").statusCode(), "its owner has unloaded it");
      server.devices().verify();
    }
  }

  @Test
  void modelThatHasBecomeAnEnsemble_leavesWithItsFolder() throws Exception {
    owned.model("turns", 1, 2);
    try (PipelaneServer server = owned.start()) {
      RepositoryPoll poll = owned.poll(server);
      owned.text(
          "turns/config.pbtxt",
          "ensemble_scheduling { step { model_name: \"small\" input_map { key: \"x\" value: \"x\" }"
              + " output_map { key: \"y\" value: \"y\" } } }");
      OwnedRepository.follow(poll);
      assertEquals(owned.answer(server, "small"), owned.answer(server, "turns"));
      owned.text("turns/config.pbtxt", "ensemble_scheduling { step { model_name: ");
      try (CapturedLog log = new CapturedLog()) {
        OwnedRepository.follow(poll);
        assertEquals(1, refusals(log), log.lines()::toString);
      }
      assertEquals(owned.answer(server, "small"), owned.answer(server, "turns"));
      String notes = OwnedRepository.index(server, "turns").getFirst().notes().toString();
      assertTrue(notes.contains("its file by now is refused"), notes);
      owned.remove("turns");
      OwnedRepository.follow(poll);
      assertEquals(404, owned.ask(server, "turns").statusCode());
      server.devices().verify();
    }
  }

  private static long refusals(CapturedLog log) {
    return log.lines().stream().filter(line -> line.contains("is refused: ")).count();
  }

  @Test
  void changedConfiguration_thatIsRefused_isToldInALine() throws Exception {
    try (PipelaneServer server = owned.start();
        CapturedLog log = new CapturedLog()) {
      RepositoryPoll poll = owned.poll(server);
      owned.text("small/config.pbtxt", "max_batch_size: -1\n");
      OwnedRepository.follow(poll);
      assertEquals(1, refusals(log), log.lines()::toString);
      assertEquals(200, owned.ask(server, "small").statusCode());
    }
  }

  @Test
  void refusedLoadWithFiles_changesNothingThatIsFollowed() throws Exception {
    try (PipelaneServer server = owned.start(Map.of("repository.upload", "true"))) {
      RepositoryPoll poll = owned.poll(server);
      Map<String, byte[]> files = Map.of("1/model.onnx", new byte[] {1, 2, 3});
      LoadOptions wrong = new LoadOptions(Optional.empty(), Optional.of("{}"), files);
      assertThrows(CompletionException.class, () -> server.catalog().load("small", wrong).join());
      String before = owned.answer(server, "small");
      owned.model("small", 1, 2);
      OwnedRepository.follow(poll);
      assertNotEquals(before, owned.answer(server, "small"));
      byte[] other = Files.readAllBytes(owned.path("small/1/model.onnx"));
      LoadOptions sound =
          new LoadOptions(Optional.empty(), Optional.of("{}"), Map.of("3/model.onnx", other));
      server.catalog().load("small", sound).join();
      assertThrows(CompletionException.class, () -> server.catalog().load("small", wrong).join());
      owned.model("small", 1, 4);
      OwnedRepository.follow(poll);
      assertEquals(3, server.catalog().resolve("small", "").version().version());
      server.devices().verify();
    }
  }

  @Test
  void interval_hasTheServerLook() throws Exception {
    try (PipelaneServer server = owned.start(Map.of("repository.poll", "20ms"))) {
      owned.model("late", 1, 2);
      boolean came = false;
      while (!came) { // The test's own limit ends it.
        came = owned.ask(server, "late").statusCode() == 200;
      }
    }
  }
}
