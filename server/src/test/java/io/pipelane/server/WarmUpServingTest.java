package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.WarmUp;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.warmup.WarmUpRuns;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests that owners declare, run before a version is READY. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WarmUpServingTest {
  private static final String RANDOM =
      "warm-up: [{name: ready, count: 3, inputs: {x: {shape: [1, 32], data: random}}}]";

  @TempDir private Path folder = Path.of("");
  private OwnedRepository owned;

  WarmUpServingTest() {}

  @BeforeEach
  void addModel() throws IOException {
    owned = new OwnedRepository(folder);
    owned.model("small", 1, 1);
  }

  @AfterEach
  void close() {
    owned.close();
  }

  private static Entry entry(PipelaneServer server) {
    return OwnedRepository.index(server, "small").getFirst();
  }

  @Test
  void declaredRequests_runAndAreNotCounted() throws Exception {
    owned.text("small/pipelane.yaml", RANDOM);
    try (PipelaneServer server = owned.start()) {
      assertEquals(State.READY, entry(server).state());
      assertFalse(entry(server).notes().toString().contains("warm"));
      String stats = owned.get(server, "models/small/stats").body();
      assertTrue(stats.contains("\"inference_count\":0"), stats);
      assertTrue(server.switcher().memory().weights().entries().getFirst().residentBytes() > 0);
      assertEquals(200, owned.ask(server, "small").statusCode());
      server.devices().verify();
    }
  }

  @Test
  void tritonsRequests_runFromAFileForEachRow() throws Exception {
    owned.text(
        "small/config.pbtxt",
        """
        max_batch_size: 4
        model_warmup { name: "rows" batch_size: 3 count: 2
          inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 32 ] input_data_file: "x.bin" } } }
        """);
    try (PipelaneServer server = owned.start()) {
      assertEquals(State.UNAVAILABLE, entry(server).state());
      assertTrue(entry(server).reason().contains("warmup/x.bin cannot be read"));
      Files.createDirectories(owned.path("small/warmup"));
      Files.write(owned.path("small/warmup/x.bin"), new byte[127]);
      StatusException refused =
          assertThrows(
              StatusException.class, () -> throwing(() -> server.catalog().load("small").join()));
      assertTrue(
          String.valueOf(refused.getMessage()).contains("its data have 381"), refused.toString());
      assertEquals(0, server.switcher().memory().weights().entries().size());
      Files.write(owned.path("small/warmup/x.bin"), new byte[128]);
      server.catalog().load("small").join();
      assertEquals(State.READY, entry(server).state());
      assertFalse(entry(server).notes().toString().contains("warm"));
      server.devices().verify();
    }
  }

  @Test
  void declaredRequests_waitForTheirTurnForAsLongAsItTakes_andClientsDoNot() throws Exception {
    owned.text(
        "small/config.pbtxt",
        """
        max_batch_size: 4
        dynamic_batching { default_queue_policy { default_timeout_microseconds: 1 } }
        model_warmup { name: "ready" batch_size: 1
          inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 32 ] zero_data: true } } }
        """);
    try (PipelaneServer server = owned.start()) {
      assertEquals(State.READY, entry(server).state(), entry(server)::reason);
      HttpResponse<String> answer = owned.ask(server, "small");
      assertEquals(503, answer.statusCode());
      assertTrue(answer.body().contains("default_timeout_microseconds"), answer.body());
    }
  }

  private static void throwing(Runnable action) {
    try {
      action.run();
    } catch (java.util.concurrent.CompletionException e) {
      throw (RuntimeException) e.getCause();
    }
  }

  @Test
  void replacementWhoseRequestFails_isRefusedAndTheOldGoesOn() throws Exception {
    try (PipelaneServer server = owned.start()) {
      String before = owned.answer(server, "small");
      owned.model("small", 1, 2);
      owned.text(
          "small/pipelane.yaml",
          "warm-up: [{name: other, inputs: {x: {shape: [1, 31], data: zero}}}]");
      List<String> answers =
          owned.askWhile(
              server,
              List.of("small", "small/versions/1"),
              () ->
                  assertThrows(
                      StatusException.class,
                      () -> throwing(() -> server.catalog().load("small").join())));
      OwnedRepository.requireKnown(Set.of(before), answers);
      assertTrue(entry(server).notes().getFirst().contains("\"other\" failed"));
      assertEquals(1, server.switcher().memory().weights().entries().size());
      server.devices().verify();
    }
  }

  /** Ends what is asked as the test says, and keeps what it was asked. */
  private static final class Recorder implements InferenceService {
    private final List<InferenceRequest> asked = new ArrayList<>();
    private final List<byte[]> inputs = new ArrayList<>();
    private final Deque<StatusException> failures = new ArrayDeque<>();
    private boolean answers = true;

    @Override
    public Ticket submit(InferenceRequest request, ResultHandler handler) {
      asked.add(request);
      inputs.add(request.inputs().getFirst().data().toArray(ValueLayout.JAVA_BYTE));
      if (!failures.isEmpty()) {
        handler.failed(failures.remove());
        return Ticket.ENDED;
      }
      if (answers) {
        handler.completed(new InferenceTimings(0, 0, 0));
        return Ticket.ENDED;
      }
      return () -> handler.failed(new StatusException(Status.CANCELLED, "withdrawn"));
    }
  }

  private static ServedModel model(TensorType type, WarmUp.Data data, int count) {
    ModelOptions plain = ModelOptions.DEFAULT;
    Shape shape = Shape.of(2);
    WarmUp request =
        new WarmUp("w", count, List.of(new WarmUp.Input("x", Optional.empty(), shape, data)));
    return new ServedModel(
        new ModelVersion("m", 1),
        List.of(1L),
        List.of(new TensorSpec("x", type, shape)),
        List.of(),
        new ModelOptions(
            plain.buckets(),
            true,
            plain.tenant(),
            plain.priority(),
            plain.limits(),
            plain.batching(),
            plain.state(),
            List.of(request)));
  }

  @Test
  void data_areOfTheModelsType() throws IOException {
    Recorder recorder = new Recorder();
    WarmUpRuns runs = new WarmUpRuns(recorder, WarmUpRuns.LONGEST);
    runs.run(model(TensorType.BYTES, new WarmUp.Zeros(), 2));
    runs.run(model(TensorType.BYTES, new WarmUp.MadeUp(), 1));
    runs.run(model(TensorType.INT64, new WarmUp.MadeUp(), 1));
    assertEquals(4, recorder.asked.size());
    assertEquals(8, recorder.inputs.getFirst().length);
    ByteBuffer letters = ByteBuffer.wrap(recorder.inputs.get(2)).order(ByteOrder.LITTLE_ENDIAN);
    assertEquals(24, letters.remaining());
    assertEquals(8, letters.getInt(0));
    assertEquals(8, letters.getInt(12));
    assertEquals(16, recorder.inputs.getLast().length);
    Path file = folder.resolve("strings");
    Files.write(file, new byte[] {1, 0, 0, 0, 'a'});
    runs.run(model(TensorType.BYTES, new WarmUp.FromFile(file, 2), 1));
    assertEquals(10, recorder.inputs.getLast().length);
  }

  /** On a GPU a state finds no room once its step has been taken, say. */
  @Test
  void requestThatOthersAreInTheWayOf_isAskedAgain() {
    Recorder recorder = new Recorder();
    recorder.failures.add(StatusException.unavailable("no room for a state now"));
    recorder.failures.add(StatusException.unavailable("nor now"));
    new WarmUpRuns(recorder, WarmUpRuns.LONGEST).run(model(TensorType.FP32, new WarmUp.Zeros(), 2));
    assertEquals(4, recorder.asked.size());
  }

  @Test
  void requestThatNothingIsInTheWayOf_orThatHasNoTimeLeft_isNotAskedAgain() {
    for (Throwable loss :
        List.of(
            new WorkerLostException("killed", Blame.ALONE),
            new WorkerStuckException("is kept", Blame.ALONE, () -> {}))) {
      assertEquals("Interrupted", failure(StatusException.unavailable("Interrupted", loss)));
    }
    assertEquals("Wrong", failure(new StatusException(Status.INVALID_ARGUMENT, "Wrong")));
    Recorder recorder = new Recorder();
    recorder.failures.add(StatusException.unavailable("no room for a state now"));
    StatusException late = refusal(recorder, Duration.ZERO);
    assertEquals(Status.UNAVAILABLE, late.status(), late.getMessage());
    assertEquals(1, recorder.asked.size());
  }

  /** What the one request of a version has said that was asked once. */
  private static String failure(StatusException told) {
    Recorder recorder = new Recorder();
    recorder.failures.add(told);
    StatusException refused = refusal(recorder, WarmUpRuns.LONGEST);
    assertEquals(1, recorder.asked.size());
    assertEquals(told.status(), refused.status());
    String message = String.valueOf(refused.getMessage());
    return message.substring(message.lastIndexOf(' ') + 1);
  }

  private static StatusException refusal(Recorder recorder, Duration longest) {
    WarmUpRuns runs = new WarmUpRuns(recorder, longest);
    return assertThrows(
        StatusException.class, () -> runs.run(model(TensorType.FP32, new WarmUp.Zeros(), 1)));
  }

  @Test
  void requests_areBoundedInBytesAndTime() {
    Recorder recorder = new Recorder();
    WarmUpRuns runs = new WarmUpRuns(recorder, WarmUpRuns.LONGEST);
    ServedModel large = model(TensorType.FP32, new WarmUp.Zeros(), 1);
    WarmUp request =
        new WarmUp(
            "w",
            1,
            List.of(
                new WarmUp.Input("x", Optional.empty(), Shape.of(1 << 27), new WarmUp.Zeros())));
    ServedModel beyond =
        new ServedModel(
            large.version(),
            large.versions(),
            List.of(new TensorSpec("x", TensorType.FP32, Shape.of(-1))),
            List.of(),
            new ModelOptions(
                List.of(),
                true,
                "",
                ModelOptions.DEFAULT.priority(),
                ModelOptions.DEFAULT.limits(),
                ModelOptions.DEFAULT.batching(),
                ModelOptions.DEFAULT.state(),
                List.of(request)));
    StatusException refused = assertThrows(StatusException.class, () -> runs.run(beyond));
    assertTrue(String.valueOf(refused.getMessage()).contains("larger than 256MiB"));
    recorder.answers = false;
    WarmUpRuns hasty = new WarmUpRuns(recorder, Duration.ZERO);
    StatusException late = assertThrows(StatusException.class, () -> hasty.run(large));
    assertTrue(String.valueOf(late.getMessage()).contains("may take 0 s"), late.toString());
    assertEquals(1, recorder.asked.size());
    assertFalse(recorder.answers);
  }
}
