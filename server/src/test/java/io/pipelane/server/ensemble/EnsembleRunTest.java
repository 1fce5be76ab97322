package io.pipelane.server.ensemble;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.hosts.FakeRegistry;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.net.Transport;
import io.pipelane.server.observability.Tracings;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SpanningModels;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Chains of models that echo. */
class EnsembleRunTest {
  private static final int ROWS = 8 << 10; // Large enough for transfer memory.
  static final String CHAIN =
      """
      ensemble:
        steps:
          - {model: echo, inputs: {x: in}, outputs: {y_x: middle}}
          - {model: echo, inputs: {x: middle}, outputs: {y_x: out}}
          - {model: echo, inputs: {x: in}, outputs: {y_x: beside}}
      """;

  /** Its last step stands first. */
  static final String TRITONS =
      """
      platform: "ensemble"
      max_batch_size: 16384
      input { name: "in" data_type: TYPE_FP32 dims: [ 4 ] }
      output { name: "out" data_type: TYPE_FP32 dims: [ 4 ] }
      output { name: "middle" }
      ensemble_scheduling {
        step {
          model_name: "echo"
          input_map { key: "x" value: "middle" }
          output_map { key: "y_x" value: "out" }
        }
        step {
          model_name: "echo"
          model_version: -1
          input_map { key: "x" value: "in" }
          output_map { key: "y_x" value: "middle" }
        }
      }
      """;

  @TempDir private Path folder = Path.of("");
  private final TransferMemory memory = new TransferMemory(Arena.ofAuto().allocate(1 << 20));
  private InferenceStatistics statistics = new InferenceStatistics();
  private final FakeCatalog models = FakeCatalog.usual();
  private final List<ModelVersion> held = new ArrayList<>();
  private EnsembleCatalog catalog =
      new EnsembleCatalog(
          models, new Repository(Path.of("none")), SpanningModels.NONE, Runnable::run);

  @BeforeEach
  void makeCatalog() {
    catalog =
        new EnsembleCatalog(models, new Repository(folder), SpanningModels.NONE, Runnable::run);
  }

  private void declare(String yaml) throws IOException {
    Path file = folder.resolve("pipe/pipelane.yaml");
    Files.createDirectories(file.getParent());
    Files.writeString(file, yaml);
    catalog.load("pipe").join();
  }

  /** Who asks. */
  private static final class Caller implements ResultHandler {
    final List<String> places = new ArrayList<>();
    final List<MemorySegment> outputs = new ArrayList<>();
    @Nullable InferenceTimings timings;
    @Nullable StatusException error;

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      places.add(name + shape);
      MemorySegment output = Arena.ofAuto().allocate(byteSize);
      outputs.add(output);
      return output;
    }

    @Override
    public void completed(InferenceTimings ofRun) {
      timings = ofRun;
    }

    @Override
    public void failed(StatusException cause) {
      error = cause;
    }
  }

  /** Notes what is held. */
  private final class Holdable implements InferenceService {
    private final EchoService echo;
    private final long gone;

    /**
     * @param gone leaves the catalogue when it is to be held
     */
    Holdable(EchoService echo, long gone) {
      this.echo = echo;
      this.gone = gone;
    }

    @Override
    public Ticket submit(InferenceRequest request, ResultHandler handler) {
      return echo.submit(request, handler);
    }

    @Override
    public Hold hold(ModelVersion version) {
      if (version.version() == gone) {
        models.leave(version.model());
        throw new StatusException(Status.NOT_FOUND, version + " has gone");
      }
      held.add(version);
      return new Hold() {
        @Override
        public Ticket submit(InferenceRequest request, ResultHandler handler) {
          assertTrue(held.contains(request.model()), "it is held");
          return echo.submit(request, handler);
        }

        @Override
        public void close() {
          assertTrue(held.remove(version), "once");
        }
      };
    }
  }

  private InferenceService.Ticket submit(InferenceService echo, Caller caller, String... outputs) {
    return submit(echo, Priority.ONLINE, caller, outputs);
  }

  private InferenceService.Ticket submit(
      InferenceService echo, Priority priority, Caller caller, String... outputs) {
    MemorySegment data = Arena.ofAuto().allocate(ROWS * 4L * Float.BYTES);
    data.setAtIndex(ValueLayout.JAVA_FLOAT, 5, 7.5f);
    ServedModel model = catalog.resolve("pipe", "");
    return new EnsembleService(
            catalog, echo, SpanningModels.NONE, statistics, new TransferBuffers(memory))
        .submit(
            new InferenceRequest(
                model.version(),
                List.of(new InputTensor("in", TensorType.FP32, Shape.of(ROWS, 4), data)),
                List.of(outputs),
                OptionalLong.empty(),
                priority),
            caller);
  }

  private ModelCounters echoed() {
    return statistics.of(catalog.resolve("echo", "").version());
  }

  @Test
  void resolve_ensemble_hasItsModelsTensors() throws IOException {
    declare(CHAIN);
    ServedModel pipe = catalog.resolve("pipe", "1");
    assertEquals(List.of(new TensorSpec("in", TensorType.FP32, Shape.of(-1, 4))), pipe.inputs());
    assertEquals(List.of("out", "beside"), pipe.outputs().stream().map(o -> o.name()).toList());
    assertThrows(StatusException.class, () -> catalog.resolve("pipe", "2"));
  }

  @Test
  void submit_wholeChain_passesTensorsOn() throws IOException {
    declare(CHAIN);
    Caller caller = new Caller();
    submit(EchoService.inline(), caller, "out", "beside");
    assertNull(caller.error);
    assertEquals(List.of("out[8192,4]", "beside[8192,4]"), caller.places);
    assertEquals(7.5f, caller.outputs.getFirst().getAtIndex(ValueLayout.JAVA_FLOAT, 5));
    assertEquals(new InferenceTimings(3, 6, 9), caller.timings);
    assertEquals(0, memory.lentBytes());
    assertEquals(3, echoed().success().count());
  }

  /** As Triton's owners may have it: a step reads what the caller has asked for, too. */
  @Test
  void submit_outputThatAStepTakes_isAnsweredAndPassedOn() throws IOException {
    declareForTriton();
    Caller caller = new Caller();
    submit(EchoService.inline(), caller, "out", "middle");
    assertNull(caller.error);
    assertEquals(List.of("middle[8192,4]", "out[8192,4]"), caller.places);
    caller.outputs.forEach(
        output -> assertEquals(7.5f, output.getAtIndex(ValueLayout.JAVA_FLOAT, 5)));
    assertEquals(0, memory.lentBytes());
    assertEquals(2, echoed().success().count());
  }

  private void declareForTriton() throws IOException {
    Path file = folder.resolve("pipe/config.pbtxt");
    Files.createDirectories(file.getParent());
    Files.writeString(file, TRITONS);
    catalog.load("pipe").join();
  }

  @Test
  void submit_whereRequestsAreTraced_tellsOfItsSteps() throws IOException {
    declare(CHAIN);
    Caller caller = new Caller();
    try (Tracings traces = new Tracings(1)) {
      statistics = new InferenceStatistics(traces.tracing);
      submit(EchoService.inline(), caller, "out", "beside");
    }
    List<InferenceTimings.Step> steps = Objects.requireNonNull(caller.timings).steps();
    assertEquals(3, steps.size());
    long ended = Long.MIN_VALUE;
    for (InferenceTimings.Step step : steps) {
      assertEquals("echo", step.model().model());
      assertEquals(new InferenceTimings(1, 2, 3), step.timings());
      assertTrue(ended == Long.MIN_VALUE || step.beganNanos() - ended >= 0, "one after another");
      ended = step.endedNanos();
    }
  }

  @Test
  void submit_fewerOutputsWanted_leavesOutOtherSteps() throws IOException {
    declare(CHAIN);
    Caller caller = new Caller();
    submit(EchoService.inline(), caller, "beside");
    assertEquals(List.of("beside[8192,4]"), caller.places);
    assertEquals(1, echoed().success().count());
  }

  @Test
  void cancel_betweenSteps_submitsNoMore() throws IOException {
    declare(CHAIN);
    EchoService echo = EchoService.holding();
    Caller caller = new Caller();
    InferenceService.Ticket ticket = submit(echo, caller, "out");
    ticket.cancel();
    echo.pending.getFirst().complete();
    assertEquals(1, echo.pending.size());
    StatusException error = caller.error;
    assertEquals(Status.CANCELLED, error == null ? Status.INTERNAL : error.status());
    assertEquals(0, memory.lentBytes());
  }

  @Test
  void submit_stepThatIsRefused_endsTheRun() throws IOException {
    declare(CHAIN);
    EchoService echo = EchoService.holding();
    Caller caller = new Caller();
    submit(echo, caller, "out");
    echo.refusal = new StatusException(Status.INSUFFICIENT_MEMORY, "no room");
    echo.pending.getFirst().complete();
    StatusException error = caller.error;
    assertTrue(error != null && error.status() == Status.INSUFFICIENT_MEMORY);
    assertEquals("step 2, model echo/2: no room", error.getMessage());
    assertEquals(0, memory.lentBytes());
    assertThrows(StatusException.class, () -> submit(echo, new Caller(), "out"));
    assertEquals(0, echoed().pending());
  }

  @Test
  void submit_stepsThatAreNeeded_areHeldUntilTheAnswer() throws IOException {
    declare(CHAIN);
    EchoService echo = EchoService.holding();
    Caller caller = new Caller();
    submit(new Holdable(echo, 0), caller, "out");
    ModelVersion version = new ModelVersion("echo", 2);
    assertEquals(List.of(version, version), held, "the third step is not needed");
    echo.pending.getFirst().complete();
    assertEquals(List.of(version, version), held, "the first step's, too");
    echo.pending.getLast().complete();
    assertEquals(2, echo.pending.size());
    assertNull(caller.error);
    assertEquals(1, caller.places.size());
    assertEquals(List.of(), held);
  }

  @Test
  void submit_everyOtherWayOut_letsGo() throws IOException {
    declare(CHAIN);
    EchoService failing = EchoService.holding();
    submit(new Holdable(failing, 0), new Caller(), "out");
    failing.pending.getFirst().fail();
    assertEquals(List.of(), held, "a step has failed");

    EchoService cancelled = EchoService.holding();
    Caller caller = new Caller();
    submit(new Holdable(cancelled, 0), caller, "out").cancel();
    assertEquals(2, held.size(), "a step is under way");
    cancelled.pending.getFirst().complete();
    assertTrue(caller.error != null && caller.error.status() == Status.CANCELLED);
    assertEquals(List.of(), held, "cancelled");

    EchoService refusing = EchoService.holding();
    submit(new Holdable(refusing, 0), new Caller(), "out");
    refusing.refusal = new StatusException(Status.INSUFFICIENT_MEMORY, "no room");
    refusing.pending.getFirst().complete();
    assertEquals(List.of(), held, "the second step is refused");
    assertThrows(
        StatusException.class, () -> submit(new Holdable(refusing, 0), new Caller(), "out"));
    assertEquals(List.of(), held, "the first step is refused");
    refusing.refusal = new IllegalStateException("a bug");
    assertThrows(
        IllegalStateException.class, () -> submit(new Holdable(refusing, 0), new Caller(), "out"));
    assertEquals(List.of(), held, "the first step is broken");
  }

  @Test
  void submit_versionThatHasLeftSinceThePlan_isFollowed() throws IOException {
    declare(CHAIN);
    EchoService echo = EchoService.holding();
    submit(new Holdable(echo, 2), new Caller(), "out");
    ModelVersion next = new ModelVersion("echo", 1);
    assertEquals(List.of(next, next), held);
    echo.pending.getFirst().complete();
    echo.pending.getLast().complete();
    assertEquals(List.of(), held);
    StatusException nobody =
        assertThrows(
            StatusException.class, () -> submit(new Holdable(echo, 1), new Caller(), "out"));
    assertEquals(Status.NOT_FOUND, nobody.status());
    assertTrue(String.valueOf(nobody.getMessage()).startsWith("step 1, model echo/1"));
    assertEquals(List.of(), held);
  }

  @Test
  void submit_offline_holdsNothing() throws IOException {
    declare(CHAIN);
    EchoService echo = EchoService.holding();
    Caller caller = new Caller();
    submit(new Holdable(echo, 0), Priority.OFFLINE, caller, "out");
    assertEquals(List.of(), held);
    echo.pending.getFirst().complete();
    echo.pending.getLast().complete();
    assertEquals(1, caller.places.size());
  }

  @Test
  void index_ensemble_isReadyWhileItsModelsAre() throws IOException {
    declare(CHAIN);
    assertEquals(State.READY, entry().state());
    declare(CHAIN.replace("model: echo", "model: broken"));
    assertEquals(State.UNAVAILABLE, entry().state());
    assertThrows(StatusException.class, () -> catalog.resolve("pipe", ""));
    declare(CHAIN);
    catalog.unload("pipe").join();
    assertTrue(entry().reason().contains("it was unloaded"), entry().reason());
    assertTrue(catalog.knows("pipe", "") && catalog.knows("pipe", "1"));
    assertFalse(catalog.knows("pipe", "2") || catalog.knows("nobody", ""));
    catalog.load("pipe").join();
    assertEquals(State.READY, entry().state());
  }

  @Test
  void unloadWithDependents_takesModelsAlongThatNobodyElseNeeds() throws IOException {
    models.loading.complete(null);
    models.unloads = true;
    models.entries =
        Stream.of("background", "echo", "sum")
            .map(name -> new Entry(name, "2", State.READY, ""))
            .toList();
    Path other = Files.createDirectories(folder.resolve("other"));
    declare(CHAIN.replaceFirst("model: echo", "model: background"));
    Files.writeString(
        other.resolve("pipelane.yaml"),
        """
        ensemble:
          steps:
            - {model: background, inputs: {x: in}, outputs: {y_x: middle}}
            - {model: sum, inputs: {x: middle}, outputs: {y_x: out}}
        """);
    catalog.load("other").join();
    models.calls.clear();
    List<String> asked = new ArrayList<>();
    catalog.unloadWithDependents("pipe", asked::add).join();
    assertEquals(List.of("echo"), asked);
    assertEquals(List.of("unload echo"), models.calls);
    catalog.load("pipe").join();
    assertEquals(List.of("unload echo", "load echo"), models.calls);
    catalog.load("echo").join(); // By its name: it is somebody's own from now on.
    models.calls.clear();
    catalog.unloadWithDependents("pipe", asked::add).join();
    assertEquals(List.of(), models.calls);
    catalog.load("pipe").join();
    catalog.unload("other").join();
    assertThrows(
        IllegalStateException.class,
        () ->
            catalog.unloadWithDependents(
                "pipe",
                model -> {
                  throw new IllegalStateException(model);
                }));
    assertEquals(List.of(), models.calls);
    assertEquals(State.READY, entry().state());
  }

  /** Other hosts do not take a step twice that they are told, or see, depends on earlier ones. */
  @Test
  void stepThatKeepsState_isStateOfTheEnsemble() throws IOException {
    FakeRegistry registry = new FakeRegistry();
    try (Hosts hosts = registry.hosts()) {
      LocalLoad load = new LocalLoad(EchoService.inline(), _ -> 0, () -> 1);
      hosts.start(URI.create("http://127.0.0.1:1"), Transport.AUTO.resolve(), catalog, load);
      declare(CHAIN);
      assertTrue(registry.word().contains("[\"pipe\",1,0]"), registry.word());
      declare(
          CHAIN.replace("{model: echo, inputs: {x: middle}", "{model: sum, inputs: {x: middle}"));
      assertTrue(registry.word().contains("[\"pipe\",1,0,\"state\"]"), registry.word());
      for (int port = 2; port < 100; port++) { // By their names one of them has the sequences.
        registry.has(URI.create("http://127.0.0.1:" + port), "pipe", 1, true, Duration.ZERO);
      }
      ServedModel pipe = catalog.resolve("pipe", "");
      assertTrue(
          hosts.elsewhere("pipe", "", pipe, () -> "").isPresent(), "without state it would stay");
    }
  }

  @Test
  void resolve_modelsThatDoNotFit_saysWhere() throws IOException {
    declare(CHAIN.replace("{x: middle}", "{other: middle}"));
    assertTrue(entry().reason().contains("step 2, model echo/2, has no input \"other\""));
    declare(CHAIN.replace("model: echo, inputs: {x: middle}", "model: cube, inputs: {x: middle}"));
    assertTrue(entry().reason().contains("takes tensor \"middle\" as INT32"), entry().reason());
    declare(CHAIN.replace("model: echo, inputs: {x: in}", "model: pair, inputs: {a: in}"));
    assertTrue(entry().reason().contains("no output \"y_x\""), entry().reason());
  }

  private Entry entry() {
    return catalog.index().stream().filter(e -> e.name().equals("pipe")).findFirst().orElseThrow();
  }
}
