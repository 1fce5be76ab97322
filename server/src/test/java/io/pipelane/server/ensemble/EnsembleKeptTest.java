package io.pipelane.server.ensemble;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import io.pipelane.switcher.SpanningModels;
import io.pipelane.switcher.kept.KeptTensors;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of tensors that stay on a device between steps; models echo, when the test says. */
class EnsembleKeptTest {
  private static final int ROWS = 8 << 10;
  private static final long BYTES = ROWS * 4L * Float.BYTES;
  private static final String CHAIN =
      """
      ensemble:
        steps:
          - {model: echo, inputs: {x: in}, outputs: {y_x: first}}
          - {model: echo, inputs: {x: first}, outputs: {y_x: second}}
          - {model: echo, inputs: {x: second}, outputs: {y_x: out}}
      """;

  @TempDir private Path folder = Path.of("");
  private final TransferMemory transfers = new TransferMemory(Arena.ofAuto().allocate(1 << 20));
  private final List<Run> runs = new ArrayList<>();
  private final Caller caller = new Caller();
  private long reserved;
  private int refusedStep = Integer.MAX_VALUE;
  private KeptTensors device = keptOn("one");
  private KeptTensors other = keptOn("other");
  private EnsembleCatalog catalog =
      new EnsembleCatalog(
          FakeCatalog.usual(), new Repository(Path.of("none")), SpanningModels.NONE, Runnable::run);

  private KeptTensors keptOn(String name) {
    Reservations working =
        new Reservations() {
          @Override
          public boolean tryReservePersistent(long bytes) {
            reserved += bytes;
            return true;
          }

          @Override
          public void releasePersistent(long bytes) {
            reserved -= bytes;
          }
        };
    return new KeptTensors(name, DeviceStates.ON_HOST, working, 2 * BYTES, reader -> false);
  }

  @BeforeEach
  void declare() throws Exception {
    catalog =
        new EnsembleCatalog(
            FakeCatalog.usual(), new Repository(folder), SpanningModels.NONE, Runnable::run);
    declare(CHAIN);
  }

  private void declare(String yaml) throws Exception {
    Path file = folder.resolve("pipe/pipelane.yaml");
    Files.createDirectories(file.getParent());
    Files.writeString(file, yaml);
    catalog.load("pipe").join();
  }

  @AfterEach
  void everythingIsGivenBack() {
    assertEquals(0, device.overview().lentBytes());
    assertEquals(0, other.overview().lentBytes());
    device.close();
    other.close();
    assertEquals(0, reserved);
    assertEquals(0, transfers.lentBytes());
  }

  /** A step under way. */
  private static final class Run implements InferenceService.Ticket {
    final InferenceRequest request;
    private final ResultHandler handler;
    boolean cancelled;

    Run(InferenceRequest request, ResultHandler handler) {
      this.request = request;
      this.handler = handler;
    }

    /** Writes the output as a run on a device does. */
    void write(KeptTensors on) {
      InputTensor x = request.inputs().getFirst();
      request
          .place()
          .keeper()
          .flatMap(keeper -> on.place(keeper, "y_x", x.type(), x.shape(), x.data().byteSize()))
          .orElseGet(() -> handler.place("y_x", x.type(), x.shape(), x.data().byteSize()))
          .copyFrom(x.data());
    }

    void complete(KeptTensors on) {
      write(on);
      handler.completed(new InferenceTimings(1, 2, 3));
    }

    void fail(Status status) {
      handler.failed(new StatusException(status, "a test"));
    }

    @Override
    public void cancel() {
      cancelled = true;
    }
  }

  /** Who asks. */
  private static final class Caller implements ResultHandler {
    private @Nullable MemorySegment output;
    private int places;
    private int ends;
    private @Nullable StatusException error;

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      places++;
      output = Arena.ofAuto().allocate(byteSize);
      return output;
    }

    @Override
    public void completed(InferenceTimings timings) {
      ends++;
    }

    @Override
    public void failed(StatusException cause) {
      ends++;
      error = cause;
    }

    void requireAnswer() {
      assertNull(error);
      assertEquals(1, ends);
      assertEquals(1, places);
      assertTrue(output != null && output.getAtIndex(ValueLayout.JAVA_FLOAT, 5) == 7.5f);
    }

    void requireFailure(Status status) {
      assertEquals(1, ends);
      assertEquals(status, error == null ? null : error.status());
    }
  }

  private InferenceService.Ticket submit(Priority priority, Optional<SequenceStep> sequence) {
    MemorySegment data = Arena.ofAuto().allocate(BYTES);
    data.setAtIndex(ValueLayout.JAVA_FLOAT, 5, 7.5f);
    InferenceService models =
        (request, handler) -> {
          if (runs.size() == refusedStep) {
            throw new StatusException(Status.UNAVAILABLE, "the queue is full");
          }
          Run run = new Run(request, handler);
          runs.add(run);
          return run;
        };
    return new EnsembleService(
            catalog,
            models,
            SpanningModels.NONE,
            new InferenceStatistics(),
            new TransferBuffers(transfers))
        .submit(
            new InferenceRequest(
                new ModelVersion("pipe", 1),
                List.of(new InputTensor("in", TensorType.FP32, Shape.of(ROWS, 4), data)),
                List.of("out"),
                OptionalLong.empty(),
                priority,
                sequence),
            caller);
  }

  private InferenceService.Ticket submit() {
    return submit(Priority.ONLINE, Optional.empty());
  }

  @Test
  void steps_readWhereTheOneBeforeHasWritten_andNothingElseIsKept() {
    submit();
    assertEquals(Optional.empty(), runs.get(0).request.place().device());
    runs.get(0).complete(device);
    assertEquals(BYTES, device.overview().lentBytes());
    assertEquals(Optional.of("one"), runs.get(1).request.place().device());
    runs.get(1).write(device);
    assertEquals(2 * BYTES, device.overview().lentBytes());
    runs.get(1).handler.completed(new InferenceTimings(1, 2, 3));
    assertEquals(BYTES, device.overview().lentBytes(), "the first's last reader has run");
    runs.get(2).complete(device);
    caller.requireAnswer();
    assertEquals(2, device.overview().tensors());
    assertEquals(0, transfers.lentBytes());
  }

  @Test
  void tensor_withTwoReaders_staysUntilTheLast() throws Exception {
    declare(
        CHAIN.replace("{x: second}, outputs: {y_x: out}", "{x: first}, outputs: {y_x: out}")
            + "    - {model: echo, inputs: {x: second}, outputs: {y_x: beside}}\n");
    submit();
    runs.get(0).complete(device);
    assertEquals(2, runs.size());
    runs.get(1).complete(device);
    assertEquals(0, device.overview().lentBytes());
    caller.requireAnswer();
  }

  @Test
  void stepThatIsMadeAgain_hasOnePlaceThatCounts() {
    submit();
    runs.get(0).write(device);
    runs.get(0).write(device);
    assertEquals(BYTES, device.overview().lentBytes());
    runs.get(0).write(other);
    assertEquals(0, device.overview().lentBytes(), "it was lost, and the host has it now");
    runs.get(0).complete(device);
    assertEquals(Optional.empty(), runs.get(1).request.place().device());
    assertEquals(0, device.overview().lentBytes(), "its place on the host counts");
    runs.get(1).complete(device);
    runs.get(2).complete(device);
    caller.requireAnswer();
  }

  @Test
  void chain_whoseDeviceIsLostOrFull_runsOnceMoreFromItsInputs() {
    for (Status reason :
        List.of(Status.DEVICE_FAILURE, Status.INSUFFICIENT_MEMORY, Status.UNAVAILABLE)) {
      runs.clear();
      Caller again = new Caller();
      caller.places = 0;
      caller.ends = 0;
      submit();
      runs.get(0).complete(device);
      runs.get(1).fail(reason);
      assertEquals(0, device.overview().lentBytes());
      assertEquals("in", nameOfInput(2));
      assertEquals(Optional.empty(), runs.get(2).request.place().keeper(), "nothing is kept now");
      runs.get(2).complete(device);
      runs.get(3).complete(device);
      runs.get(4).complete(device);
      caller.requireAnswer();
      assertEquals(0, again.ends);
    }
  }

  /** The ensemble's inputs alone have this number where nothing was written before. */
  private String nameOfInput(int run) {
    MemorySegment data = runs.get(run).request.inputs().getFirst().data();
    return data.address() == runs.getFirst().request.inputs().getFirst().data().address()
        ? "in"
        : "other";
  }

  @Test
  void step_thatAFullQueueRefuses_endsTheRequest() {
    refusedStep = 1;
    submit();
    runs.get(0).complete(device);
    assertEquals(1, runs.size());
    caller.requireFailure(Status.UNAVAILABLE);
  }

  @Test
  void chain_thatFailsAgain_fails() {
    submit();
    runs.get(0).complete(device);
    runs.get(1).fail(Status.INSUFFICIENT_MEMORY);
    runs.get(2).complete(device);
    runs.get(3).fail(Status.INSUFFICIENT_MEMORY);
    assertEquals(4, runs.size());
    caller.requireFailure(Status.INSUFFICIENT_MEMORY);
  }

  /** Without anything kept the chain would take more of what the host lacks. */
  @Test
  void chain_whoseHostLacksMemory_isNotRunOnceMore() {
    submit();
    runs.get(0).complete(device);
    runs.get(1).complete(device);
    runs.get(2).handler.failed(DirectMemory.refused(1, new OutOfMemoryError("on purpose")));
    assertEquals(3, runs.size());
    caller.requireFailure(Status.UNAVAILABLE);
  }

  @Test
  void step_thatFailsForAnotherReason_endsTheRequest() {
    submit();
    runs.get(0).complete(device);
    runs.get(1).write(device);
    runs.get(1).fail(Status.INVALID_ARGUMENT);
    assertEquals(2, runs.size());
    caller.requireFailure(Status.INVALID_ARGUMENT);
  }

  @Test
  void cancel_betweenSteps_givesBackAndReachesTheStepUnderWay() {
    InferenceService.Ticket ticket = submit();
    runs.get(0).complete(device);
    runs.get(1).fail(Status.DEVICE_FAILURE);
    ticket.cancel();
    assertTrue(runs.get(2).cancelled, "that of the second attempt");
    runs.get(2).complete(device);
    assertEquals(3, runs.size());
    caller.requireFailure(Status.CANCELLED);
  }

  @Test
  void offlineRequest_keepsNothing() {
    submit(Priority.OFFLINE, Optional.empty());
    requireNothingKept();
  }

  /** A model with a state would take its step twice, were the chain run again. */
  @Test
  void requestOfASequence_keepsNothing() {
    submit(Priority.ONLINE, Optional.of(new SequenceStep("s", true, true)));
    requireNothingKept();
  }

  private void requireNothingKept() {
    for (int i = 0; i < 3; i++) {
      runs.get(i).complete(device);
    }
    assertEquals(0, device.overview().tensors());
    caller.requireAnswer();
  }
}
