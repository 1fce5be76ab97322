package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.AttributeProto.AttributeType;
import ai.onnx.proto.OnnxMl.GraphProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.StatefulModels;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A model that keeps state: {@code y = x w + s}, and y is s of the next step. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SequencesTest {
  private static final int WIDTH = 64;
  private static final long WEIGHTS =
      TestDevices.ON_GPU ? 32 << 20 : 4L * WIDTH * WIDTH * Float.BYTES;

  private static final int LARGE = 4_000;
  private static final Map<String, String> CACHE =
      Map.of("present_key", "past_key", "present_value", "past_value");

  @TempDir Path folder;
  private final Device device = TestDevices.open(WEIGHTS, 16 << 10);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final Switcher switcher =
      new Switcher(
          device,
          memory,
          TestDevices.sessions(device, memory),
          SwitcherSettings.of(
              WEIGHTS,
              TestDevices.ON_GPU ? 4L << 30 : 64 << 20,
              2,
              1_000,
              1 << 30,
              new EqualBytesGrouping(4, 1)),
          ReadWeights::of);

  @AfterEach
  void everythingIsGivenBack() {
    switcher.verify();
    switcher.close();
    assertEquals(0, device.persistent().usedBytes());
    device.close();
  }

  /**
   * Options of a model that keeps state.
   *
   * @param state names of inputs by those of the outputs that they come from
   */
  static ModelOptions keeping(Map<String, String> state) {
    Map<String, StateInput> inputs = new HashMap<>();
    state.forEach((output, input) -> inputs.put(output, new StateInput(input)));
    return keepingInputs(inputs);
  }

  static ModelOptions keepingInputs(Map<String, StateInput> state) {
    ModelOptions options = ModelOptions.DEFAULT;
    return new ModelOptions(
        options.buckets(),
        options.warmUp(),
        options.tenant(),
        options.priority(),
        options.limits(),
        options.batching(),
        state);
  }

  private ImportedModel registered() throws IOException {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    switcher.register(model, keeping(Map.of("t", "s")));
    return model;
  }

  private static float[] input() {
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = 1 + i / 8f;
    }
    return x;
  }

  private Call submit(ImportedModel model, Optional<SequenceStep> step) {
    InferenceRequest request = Call.request(model.version(), input());
    Call call = new Call();
    switcher.submit(
        new InferenceRequest(
            request.model(),
            request.inputs(),
            List.of("y"),
            OptionalLong.empty(),
            Priority.ONLINE,
            step),
        call);
    return call;
  }

  private Call step(ImportedModel model, String id, boolean start, boolean end) {
    return submit(model, Optional.of(new SequenceStep(id, start, end)));
  }

  private static float[] times(float factor, float[] values) {
    float[] result = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      result[i] = factor * values[i];
    }
    return result;
  }

  private static Status refused(Executable work) {
    return assertThrows(StatusException.class, work).status();
  }

  @Test
  void steps_addUpBySequenceAndInTheirOrder() throws Exception {
    ImportedModel model = registered();
    float[] once = step(model, "one", true, false).await();
    step(model, "other", true, false).await();
    List<Call> calls = new ArrayList<>();
    for (int i = 2; i <= 20; i++) {
      calls.add(step(model, "one", false, false));
    }
    for (int i = 2; i <= 20; i++) {
      assertArrayEquals(
          times(i, once), calls.get(i - 2).await(), Math.abs(once[0]) * 1e-3f + 1e-3f);
    }
    assertArrayEquals(
        times(2, once), step(model, "other", false, true).await(), Math.abs(once[0]) * 1e-4f);
    assertArrayEquals(once, step(model, "one", true, true).await(), "it has begun anew");
    while (switcher.states().sequences() > 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void sequenceThatHasNotBegunOrHasEnded_isRefused() throws Exception {
    ImportedModel model = registered();
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> submit(model, Optional.empty())));
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> step(model, "a", false, false)));
    step(model, "a", true, true).await();
    while (switcher.states().sequences() > 0) {
      Thread.onSpinWait();
    }
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> step(model, "a", false, false)));
  }

  /** What was read of one sequence is what another one begins with. */
  @Test
  void stateThatWasRead_anotherSequenceGoesOnFromIt() throws Exception {
    ImportedModel model = registered();
    float[] once = step(model, "one", true, false).await();
    step(model, "one", false, false).await();
    SequenceState state = switcher.sequence(model.version(), "one").orElseThrow();
    List<InputTensor> kept = new ArrayList<>();
    assertTrue(state.read(tensors -> tensors.forEach(tensor -> kept.add(copy(tensor)))));
    assertEquals(List.of("s"), kept.stream().map(InputTensor::name).toList());
    state.end();
    assertFalse(state.read(_ -> {}));
    assertEquals(Optional.empty(), switcher.sequence(model.version(), "one"));

    Call call = submit(model, Optional.of(new SequenceStep("other", true, true, kept)));
    assertArrayEquals(times(3, once), call.await(), Math.abs(once[0]) * 1e-3f + 1e-3f);
  }

  private static InputTensor copy(InputTensor tensor) {
    MemorySegment data = Arena.ofAuto().allocate(tensor.data().byteSize());
    return new InputTensor(
        tensor.name(), tensor.type(), tensor.shape(), data.copyFrom(tensor.data()));
  }

  @Test
  void initialStateThatDoesNotFit_isRefused() throws Exception {
    ImportedModel model = registered();
    InputTensor wrong =
        new InputTensor("s", TensorType.FP32, Shape.of(1, 2), Arena.ofAuto().allocate(8));
    InputTensor unknown = new InputTensor("x", wrong.type(), wrong.shape(), wrong.data());
    for (InputTensor given : List.of(wrong, unknown)) {
      SequenceStep step = new SequenceStep("a", true, true, List.of(given));
      assertEquals(Status.INVALID_ARGUMENT, refused(() -> submit(model, Optional.of(step))));
      assertEquals(0, switcher.states().sequences());
    }
  }

  /** As a cache of what was said so far: each step's output is larger than its input. */
  @Test
  void stateThatGrows_keepsAllThatCame() throws Exception {
    AttributeProto.Builder alongRows =
        AttributeProto.newBuilder().setName("axis").setType(AttributeType.INT).setI(1);
    AttributeProto.Builder ofRows =
        AttributeProto.newBuilder().setName("axes").setType(AttributeType.INTS).addInts(1);
    ImportedModel model =
        TestImports.of(
            TestModels.model(
                GraphProto.newBuilder()
                    .addInput(TestModels.value("x", TensorType.FP32, -1, WIDTH))
                    .addInput(TestModels.value("s", TensorType.FP32, -1, -1))
                    .addInitializer(TestModels.weight("w", new Random(1), WIDTH, WIDTH))
                    .addNode(TestModels.node("MatMul", List.of("x", "w"), "h"))
                    .addNode(
                        TestModels.node("Concat", List.of("s", "h"), "t").addAttribute(alongRows))
                    .addNode(TestModels.node("ReduceMax", List.of("t"), "y").addAttribute(ofRows))
                    .addOutput(TestModels.value("t", TensorType.FP32, -1, -1))
                    .addOutput(TestModels.value("y", TensorType.FP32, -1, 1))),
            "growing",
            folder);
    switcher.register(model, keeping(Map.of("t", "s")));
    float largest = step(model, "a", true, false).await()[0];
    for (int i = 0; i < 20; i++) {
      assertEquals(largest, step(model, "a", false, false).await()[0]);
    }
    SequenceState state = switcher.sequence(model.version(), "a").orElseThrow();
    List<InputTensor> kept = new ArrayList<>();
    assertTrue(state.read(tensors -> tensors.forEach(tensor -> kept.add(copy(tensor)))));
    assertEquals(Shape.of(1, 1 + 21 * WIDTH), kept.getFirst().shape());
    float[] all = kept.getFirst().data().toArray(ValueLayout.JAVA_FLOAT);
    assertEquals(0, all[0]);
    for (int i = 1; i < all.length; i++) {
      assertEquals(all[1 + (i - 1) % WIDTH], all[i], Math.abs(largest) * 1e-3f, "number " + i);
    }
  }

  /** The mean of all steps: a row of zeros too many would show. */
  @Test
  void stateThatGrows_beginsWithNothing() throws Exception {
    ImportedModel model = TestImports.of(StatefulModels.mean(WIDTH), "mean", folder);
    switcher.register(model, keeping(Map.of("t", "s")));
    for (int i = 0; i < 20; i++) {
      assertArrayEquals(input(), step(model, "a", i == 0, false).await(), 1e-4f, "step " + i);
    }
    SequenceState state = switcher.sequence(model.version(), "a").orElseThrow();
    assertTrue(
        state.read(tensors -> assertEquals(Shape.of(1, 20, WIDTH), tensors.getFirst().shape())));
  }

  /**
   * It says what it lacks, each time, and what it has is there still. No other will give memory
   * back, so it is no use to ask again.
   */
  @Test
  void stateThatGrowsBeyondTheMemory_isRefusedAndStaysAsItWas() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "it has too much memory");
    ImportedModel model = TestImports.of(StatefulModels.mean(WIDTH), "mean", folder);
    switcher.register(model, keeping(Map.of("t", "s")));
    int steps = 0;
    @Nullable StatusException refusal = null;
    while (refusal == null) {
      try {
        float[] _ = largeStep(model, steps == 0).await();
        steps++;
      } catch (StatusException e) { // A lane may have had more than its step needs, once.
        refusal = e.status() == Status.UNAVAILABLE ? refusalOf(model) : e;
        steps += refusal == null ? 1 : 0;
      }
    }
    checkHasOutgrownTheMemory(refusal);
    assertTrue(steps > 1, steps + " steps");
    checkHasOutgrownTheMemory(
        assertThrows(StatusException.class, () -> largeStep(model, false).await()));
    Shape kept = Shape.of(LARGE, steps, WIDTH);
    SequenceState state = switcher.sequence(model.version(), "large").orElseThrow();
    assertTrue(state.read(tensors -> assertEquals(kept, tensors.getFirst().shape())));
  }

  /** Null where the step is made. */
  private @Nullable StatusException refusalOf(ImportedModel model) {
    try {
      float[] _ = largeStep(model, false).await();
      return null;
    } catch (StatusException e) {
      return e;
    }
  }

  private static void checkHasOutgrownTheMemory(StatusException refusal) {
    String message = String.valueOf(refusal.getMessage());
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status(), message);
    assertTrue(message.contains("device.working-memory"), message);
  }

  private Call largeStep(ImportedModel model, boolean start) {
    MemorySegment x = Arena.ofAuto().allocate((long) LARGE * WIDTH * Float.BYTES, 64);
    Call call = new Call();
    switcher.submit(
        new InferenceRequest(
            model.version(),
            List.of(new InputTensor("x", TensorType.FP32, Shape.of(LARGE, WIDTH), x)),
            List.of("y"),
            OptionalLong.empty(),
            Priority.ONLINE,
            Optional.of(new SequenceStep("large", start, false))),
        call);
    return call;
  }

  /** What an open dimension begins as, by the names that the graph gives. */
  @ParameterizedTest
  @CsvSource({
    "batch_size, past, past + 1, -1, 0",
    "batch_size, past, Concat_17, -1, 0",
    "'', past, total, -1, 0",
    "1, past, total, 1, 0",
  })
  void openDimensions_beginAsTheirNamesTell(
      String batch, String past, String present, long first, long length) throws Exception {
    ImportedModel model =
        TestImports.of(StatefulModels.decoder(batch, past, present), "named", folder);
    switcher.register(model, keeping(CACHE));
    assertEquals(0, switcher.states().sequences());
    for (int rows : first < 0 ? List.of(1, 3) : List.of(1)) {
      Call call = new Call();
      switcher.submit(tokens(model, rows, true), call);
      float[] _ = call.await();
      SequenceState state = switcher.sequence(model.version(), "tokens").orElseThrow();
      Shape two = Shape.of(rows, StatefulModels.HEADS, length + 1, StatefulModels.HEAD_WIDTH);
      assertTrue(
          state.read(tensors -> tensors.forEach(tensor -> assertEquals(two, tensor.shape()))));
    }
  }

  /** Without names, and with one that is the same before a step and after it. */
  @ParameterizedTest
  @CsvSource({"'', '', ''", "batch_size, past + 1, past + 1"})
  void openDimensionsThatNothingTells_areToBeSaid(String batch, String past, String present)
      throws Exception {
    ImportedModel model =
        TestImports.of(StatefulModels.decoder(batch, past, present), "unclear", folder);
    StatusException refusal =
        assertThrows(StatusException.class, () -> switcher.register(model, keeping(CACHE)));
    assertEquals(Status.INVALID_ARGUMENT, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("begins: [rows, 2, 0, 4]"), message);
    List<Long> begins = List.of(StateInput.ROWS, 2L, 0L, 4L);
    switcher.register(
        model,
        keepingInputs(
            Map.of(
                "present_key", new StateInput("past_key", begins),
                "present_value", new StateInput("past_value", begins))));
    Call call = new Call();
    switcher.submit(tokens(model, 1, true), call);
    float[] _ = call.await();
    switcher.deregister(model.version());
    List<Long> wrong = List.of(StateInput.ROWS, 3L, 0L, 4L);
    StateInput key = new StateInput("past_key", wrong);
    assertEquals(
        Status.INVALID_ARGUMENT,
        refused(() -> switcher.register(model, keepingInputs(Map.of("present_key", key)))));
  }

  private static InferenceRequest tokens(ImportedModel model, int rows, boolean start) {
    MemorySegment ids = Arena.ofAuto().allocate(8L * rows, 8);
    return new InferenceRequest(
        model.version(),
        List.of(new InputTensor("ids", TensorType.INT64, Shape.of(rows, 1), ids)),
        List.of("logits"),
        OptionalLong.empty(),
        Priority.ONLINE,
        Optional.of(new SequenceStep("tokens", start, false)));
  }

  @Test
  void deregister_stateIsGivenBack() throws Exception {
    ImportedModel model = registered();
    long free = switcher.memory().constantBytes();
    step(model, "a", true, false).await();
    switcher.deregister(model.version());
    assertEquals(0, switcher.states().sequences());
    switcher.register(model, keeping(Map.of("t", "s")));
    assertEquals(free, switcher.memory().constantBytes());
    assertEquals(Status.INVALID_ARGUMENT, refused(() -> step(model, "a", false, false)));
  }

  @Test
  void declarationThatDoesNotFitTheModel_isRefused() throws Exception {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    for (Map<String, String> state :
        List.of(Map.of("none", "s"), Map.of("t", "none"), Map.of("t", "s", "y", "s"))) {
      assertEquals(
          Status.INVALID_ARGUMENT, refused(() -> switcher.register(model, keeping(state))));
    }
    switcher.register(model);
  }
}
