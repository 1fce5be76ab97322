package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.VersionChoices;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.pipelane.protocol.grpc.ModelConfigRequest;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelReadyRequest;
import io.pipelane.protocol.grpc.RepositoryModelLoadRequest;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.catalog.RepositoryPoll;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which versions answer, as their owner chooses while clients ask. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VersionChoiceTest {
  private static final String VERSIONS = "repository/models/small/versions";

  @TempDir private Path folder = Path.of("");
  private OwnedRepository owned;

  VersionChoiceTest() {}

  @BeforeEach
  void addModel() throws Exception {
    owned = new OwnedRepository(folder);
    for (int version = 1; version <= 3; version++) {
      owned.model("small", version, version);
    }
  }

  @AfterEach
  void close() {
    owned.close();
  }

  private String choose(PipelaneServer server, String json) throws Exception {
    HttpResponse<String> response = owned.post(server, VERSIONS, json);
    assertEquals(200, response.statusCode(), response.body());
    return response.body();
  }

  /** What it says of captures depends on what has been run until then. */
  private static String withoutCaptures(String versions) {
    return versions.replaceAll(",\"[^\"]*captured[^\"]*\"", "");
  }

  private String refusal(PipelaneServer server, String json) throws Exception {
    String before = withoutCaptures(owned.get(server, VERSIONS).body());
    HttpResponse<String> response = owned.post(server, VERSIONS, json);
    assertEquals(400, response.statusCode(), response.body());
    String after = withoutCaptures(owned.get(server, VERSIONS).body());
    assertEquals(before, after, "nothing has changed");
    return response.body();
  }

  @Test
  void rollsForwardAndBack_whileClientsAsk_everyRequestIsAnswered() throws Exception {
    try (PipelaneServer server = owned.start()) {
      choose(server, "{\"labels\":{\"stable\":1,\"canary\":2}}");
      Set<String> contents = new HashSet<>();
      for (int version = 1; version <= 3; version++) {
        contents.add(owned.answer(server, "small/versions/" + version));
      }
      assertEquals(3, contents.size());
      List<String> answers =
          owned.askWhile(
              server,
              List.of("small", "small/versions/stable", "small/versions/canary"),
              () -> {
                for (int round = 0; round < 3; round++) {
                  choose(server, "{\"default\":\"stable\"}");
                  choose(server, "{\"labels\":{\"stable\":2,\"canary\":3}}");
                  choose(server, "{\"serve\":\"2,3\"}");
                  choose(server, "{\"default\":null}");
                  choose(server, "{\"serve\":\"latest:3\"}");
                  choose(server, "{\"labels\":{\"stable\":1,\"canary\":1},\"default\":1}");
                  choose(server, "{\"serve\":\"1\"}");
                  choose(
                      server,
                      "{\"serve\":null,\"labels\":{\"stable\":3,\"canary\":2},\"default\":null}");
                }
              });
      OwnedRepository.requireKnown(contents, answers);
      assertEquals(owned.answer(server, "small/versions/3"), owned.answer(server, "small"));
      server.devices().verify();
    }
  }

  @Test
  void labels_areTakenOverGrpc() throws Exception {
    try (PipelaneServer server = owned.start(Map.of("server.grpc-port", "0"))) {
      choose(server, "{\"labels\":{\"stable\":1},\"default\":\"stable\"}");
      ManagedChannel channel =
          NettyChannelBuilder.forTarget(server.grpcAddress().orElseThrow()).usePlaintext().build();
      try {
        GRPCInferenceServiceBlockingStub client =
            GRPCInferenceServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(60, TimeUnit.SECONDS);
        assertEquals("1", client.modelInfer(request("")).getModelVersion());
        assertEquals("1", client.modelInfer(request("stable")).getModelVersion());
        assertEquals("3", client.modelInfer(request("3")).getModelVersion());
        assertTrue(client.modelReady(ready("stable")).getReady());
        assertEquals(
            List.of("1", "2", "3"),
            client
                .modelMetadata(
                    ModelMetadataRequest.newBuilder().setName("small").setVersion("stable").build())
                .getVersionsList());
        assertEquals(
            "small",
            client
                .modelConfig(
                    ModelConfigRequest.newBuilder().setName("small").setVersion("stable").build())
                .getConfig()
                .getName());
        choose(server, "{\"labels\":{\"stable\":2}}");
        assertEquals("2", client.modelInfer(request("stable")).getModelVersion());
        assertEquals("2", client.modelInfer(request("")).getModelVersion());
        io.grpc.Status unknown =
            assertThrows(StatusRuntimeException.class, () -> client.modelInfer(request("canary")))
                .getStatus();
        assertEquals(Code.NOT_FOUND, unknown.getCode());
        assertTrue(String.valueOf(unknown.getDescription()).contains("labels [stable]"));
        assertFalse(client.modelReady(ready("canary")).getReady());
        client.repositoryModelLoad(
            RepositoryModelLoadRequest.newBuilder().setModelName("small").build());
        assertEquals("2", client.modelInfer(request("stable")).getModelVersion());
      } finally {
        channel.shutdownNow();
      }
    }
  }

  private static ModelReadyRequest ready(String version) {
    return ModelReadyRequest.newBuilder().setName("small").setVersion(version).build();
  }

  private static ModelInferRequest request(String version) {
    return ModelInferRequest.newBuilder()
        .setModelName("small")
        .setModelVersion(version)
        .addInputs(
            ModelInferRequest.InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(1)
                .addShape(OwnedRepository.WIDTH))
        .addRawInputContents(ByteString.copyFrom(new byte[OwnedRepository.WIDTH * Float.BYTES]))
        .build();
  }

  @Test
  void labels_areTakenWhereVersionsAre() throws Exception {
    try (PipelaneServer server = owned.start()) {
      choose(server, "{\"labels\":{\"stable\":\"1\"},\"default\":\"stable\"}");
      assertEquals(owned.answer(server, "small/versions/1"), owned.answer(server, "small"));
      assertTrue(
          owned.ask(server, "small/versions/stable").body().contains("\"model_version\":\"1\""));
      assertEquals(200, owned.get(server, "models/small/versions/stable").statusCode());
      assertEquals(200, owned.get(server, "models/small/versions/stable/ready").statusCode());
      assertEquals(200, owned.get(server, "models/small/versions/stable/config").statusCode());
      assertTrue(
          owned
              .get(server, "models/small/versions/stable/stats")
              .body()
              .contains("\"version\":\"1\""));
      HttpResponse<String> unknown = owned.ask(server, "small/versions/canary");
      assertEquals(404, unknown.statusCode());
      assertTrue(unknown.body().contains("labels [stable]"), unknown.body());
      for (String none : List.of("abc", "0", "-1", "1.0", "9999999999999999999")) {
        assertEquals(404, owned.ask(server, "small/versions/" + none).statusCode());
      }
      String notes = OwnedRepository.index(server, "small").getFirst().notes().toString();
      assertTrue(notes.contains("label \\\"stable\\\"") || notes.contains("label \"stable\""));
      assertTrue(notes.contains("answers requests that name no version"), notes);
    }
  }

  @Test
  void choice_isKeptOverARestart_andTheRepositoryIsOnlyRead() throws Exception {
    owned = new OwnedRepository(folder, folder.resolve("cache"));
    String chosen;
    Files.setPosixFilePermissions(
        owned.path("small"), PosixFilePermissions.fromString("r-xr-xr-x"));
    try {
      try (PipelaneServer server = owned.start()) {
        chosen =
            choose(
                server,
                "{\"serve\":\"1,2\",\"labels\":{\"stable\":1,\"canary\":2},\"default\":\"stable\"}");
      }
      try (PipelaneServer server = owned.start()) {
        assertEquals(withoutCaptures(chosen), withoutCaptures(owned.get(server, VERSIONS).body()));
        assertEquals(owned.answer(server, "small/versions/1"), owned.answer(server, "small"));
        assertEquals(404, owned.ask(server, "small/versions/3").statusCode());
        server.catalog().load("small").join();
        assertEquals(404, owned.ask(server, "small/versions/3").statusCode());
        choose(server, "{\"serve\":null,\"labels\":null,\"default\":null}");
        assertEquals(owned.answer(server, "small/versions/3"), owned.answer(server, "small"));
      }
    } finally {
      Files.setPosixFilePermissions(
          owned.path("small"), PosixFilePermissions.fromString("rwxr-xr-x"));
    }
    try (Stream<Path> kept = Files.walk(owned.cache().resolve("choices"))) {
      assertEquals(0, kept.filter(Files::isRegularFile).count(), "nothing chosen, nothing kept");
    }
  }

  @Test
  void whatCannotBeServed_isNotChosen() throws Exception {
    try (PipelaneServer server = owned.start(Map.of("repository.upload", "true"))) {
      String unknown = refusal(server, "{\"serve\":\"7\"}");
      assertTrue(
          unknown.contains("serve \\\"7\\\" names none of its versions, [1, 2, 3]"), unknown);
      choose(server, "{\"serve\":\"2\",\"labels\":{\"stable\":1}}");
      assertEquals(200, owned.ask(server, "small/versions/1").statusCode(), "it has a label");
      assertEquals(404, owned.ask(server, "small/versions/3").statusCode());
      assertTrue(refusal(server, "{\"labels\":{\"canary\":7}}").contains("7"));
      assertTrue(refusal(server, "{\"labels\":{\"1st\":1}}").contains("no name of a label"));
      assertTrue(refusal(server, "{\"labels\":{\"canary\":\"stable\"}}").contains("labels.canary"));
      assertTrue(refusal(server, "{\"default\":\"canary\"}").contains("neither a label"));
      assertTrue(refusal(server, "{\"serve\":\"newest\"}").contains("latest:2"));
      assertTrue(refusal(server, "{\"served\":1}").contains("serve, default and labels"));
      assertEquals(404, owned.post(server, "repository/models/none/versions", "{}").statusCode());
      assertEquals(404, owned.get(server, "repository/models/none/versions").statusCode());
      StatusException kept =
          (StatusException) assertThrowsCause(() -> server.catalog().delete("small", "1").join());
      assertEquals(Status.INVALID_ARGUMENT, kept.status());
      assertEquals(200, owned.ask(server, "small/versions/1").statusCode());
      choose(server, "{\"serve\":\"1\"}");
      Files.writeString(owned.path("small/3/model.onnx"), "no model");
      String before = owned.answer(server, "small");
      assertEquals(400, owned.post(server, VERSIONS, "{\"serve\":\"all\"}").statusCode());
      assertEquals(before, owned.answer(server, "small"));
      assertEquals(1, server.switcher().memory().weights().entries().size());
      assertEquals(1, OwnedRepository.index(server, "small").size());
      server.catalog().unload("small").join();
      assertEquals(400, owned.post(server, VERSIONS, "{\"serve\":\"2\"}").statusCode());
      server.devices().verify();
    }
  }

  /** A bad upload, for instance. */
  @Test
  void versionThatIsRefused_keepsNobodyFromChoosingWithoutIt() throws Exception {
    try (PipelaneServer server = owned.start()) {
      owned.text("small/4/model.onnx", "no model");
      choose(server, "{\"default\":2}");
      choose(server, "{\"labels\":{\"stable\":1}}");
      Throwable told = assertThrowsCause(() -> server.catalog().load("small").join());
      assertTrue(String.valueOf(told.getMessage()).startsWith("small/4: "), told::getMessage);
      choose(server, "{\"default\":1}");
      choose(server, "{\"labels\":{\"stable\":3}}");
      choose(server, "{\"serve\":\"1,2,3\"}");
      choose(server, "{\"default\":\"stable\"}");
      assertEquals(owned.answer(server, "small/versions/3"), owned.answer(server, "small"));
      for (String named :
          List.of("{\"serve\":\"all\"}", "{\"labels\":{\"next\":4}}", "{\"default\":4}")) {
        String refusal = refusal(server, named);
        assertTrue(refusal.contains("small/4: "), refusal);
        assertTrue(refusal.contains("; delete it, or choose without it"), refusal);
      }
      server.devices().verify();
    }
  }

  @Test
  void versionThatIsRefused_staysInTheIndexWithItsReason() throws Exception {
    owned.text("small/4/model.onnx", "no model");
    try (PipelaneServer server = owned.start()) {
      choose(server, "{\"labels\":{\"stable\":1}}");
      Entry refused = OwnedRepository.index(server, "small").getLast();
      assertEquals("4", refused.version());
      assertEquals(State.UNAVAILABLE, refused.state());
      assertTrue(refused.reason().contains("ONNX"), refused.reason());
    }
  }

  /** A label may stand for a version that was taken out of the repository. */
  @Test
  void labelOfNothing_keepsNobodyFromChoosingSomethingElse() throws Exception {
    try (PipelaneServer server = owned.start()) {
      choose(server, "{\"labels\":{\"stable\":3},\"default\":\"stable\"}");
      Files.delete(owned.path("small/3/model.onnx"));
      Files.delete(owned.path("small/3/model.onnx").getParent());
      Throwable missed = assertThrowsCause(() -> server.catalog().load("small").join());
      assertTrue(String.valueOf(missed.getMessage()).contains("has no version 3"));
      choose(server, "{\"labels\":{\"canary\":2}}");
      choose(server, "{\"serve\":\"latest:1\"}");
      assertTrue(refusal(server, "{\"labels\":{\"next\":3}}").contains("next"));
      choose(server, "{\"default\":\"canary\"}");
      assertEquals(200, owned.ask(server, "small").statusCode());
      choose(server, "{\"labels\":{\"stable\":null}}");
    }
  }

  private static Throwable assertThrowsCause(Runnable action) {
    try {
      action.run();
    } catch (CompletionException e) {
      return Objects.requireNonNull(e.getCause());
    }
    throw new AssertionError("nothing was thrown");
  }

  @Test
  void folderThatIsFollowed_servesWhatIsChosen() throws Exception {
    try (PipelaneServer server = owned.start()) {
      choose(server, "{\"serve\":\"latest:2\",\"labels\":{\"stable\":2},\"default\":\"stable\"}");
      String stable = owned.answer(server, "small");
      RepositoryPoll poll = owned.poll(server);
      owned.model("small", 4, 9);
      OwnedRepository.follow(poll);
      assertEquals(200, owned.ask(server, "small/versions/4").statusCode());
      assertEquals(200, owned.ask(server, "small/versions/3").statusCode());
      assertEquals(404, owned.ask(server, "small/versions/1").statusCode());
      assertEquals(stable, owned.answer(server, "small"));
      assertNotEquals(stable, owned.answer(server, "small/versions/4"));
    }
  }

  @Test
  void choicesThatCannotBeRead_areNone() throws Exception {
    owned = new OwnedRepository(folder, folder.resolve("cache"));
    VersionChoices choices = VersionChoices.of(folder, owned.cache());
    assertTrue(choices.of("small").isNone());
    assertTrue(choices.of("../small").isNone());
    choices.put("small", choices.of("small").with("stable", 1));
    assertEquals(
        Map.of("stable", 1L), VersionChoices.of(folder, owned.cache()).of("small").labels());
    try (Stream<Path> files = Files.walk(owned.cache())) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Files.writeString(file, "{\"labels\":3}");
      }
    }
    assertTrue(VersionChoices.of(folder, owned.cache()).of("small").isNone());
  }
}
