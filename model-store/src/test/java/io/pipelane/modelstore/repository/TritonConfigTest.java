package io.pipelane.modelstore.repository;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ModelName;
import io.pipelane.modelstore.repository.ModelOptions.OwnTimes;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TritonConfigTest {
  /** As in Triton's documentation, with more of what its models use. */
  private static final String RESNET =
      """
      name: "resnet"
      platform: "onnxruntime_onnx"   # a comment
      max_batch_size: 8
      input [{ name: "x" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 3, 224, 224 ] }]
      output { name: "y", data_type: TYPE_FP32, dims: 1000, label_filename: "labels.txt" }
      instance_group [{ count: 2 kind: KIND_GPU gpus: [ 0, 1 ] }]
      dynamic_batching {
        preferred_batch_size: [ 4, 8, 64 ]
        max_queue_delay_microseconds: 100
        default_queue_policy { max_queue_size: 32 default_timeout_microseconds: 50000 }
      }
      model_warmup [{ name: "zeros" batch_size: 1
        inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3, 224, 224 ] zero_data: true } } }]
      parameters { key: "intra_op_thread_count" value { string_value: "4" } }
      optimization { cuda { graphs: true } }
      """;

  private static final String POLICY = "dynamic_batching.default_queue_policy.";

  private static final List<TensorSpec> INPUTS = List.of(spec("x", -1, 3, -1, -1));
  private static final List<TensorSpec> OUTPUTS = List.of(spec("y", -1, 1000));

  @TempDir Path root;

  private static TensorSpec spec(String name, long... shape) {
    return new TensorSpec(name, TensorType.FP32, Shape.of(shape));
  }

  private static TritonConfig parse(String text) {
    return TritonConfigFile.parse(text, "resnet");
  }

  private static String refusal(Runnable action) {
    StatusException error = assertThrows(StatusException.class, action::run);
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    return String.valueOf(error.getMessage());
  }

  @Test
  void parse_byteOrderMarkInFront_isPassedOver() {
    assertEquals(parse(RESNET), parse("\uFEFF" + RESNET));
  }

  @Test
  void parse_mapsWhatHasAMeaning() {
    ModelOptions options = TritonOptions.of(parse(RESNET));
    assertEquals(List.of(4, 8), options.buckets());
    assertEquals(List.of(4, 8), options.batching().preferredSizes());
    assertEquals(Duration.of(100, ChronoUnit.MICROS), options.batching().maxQueueDelay());
    assertTrue(options.warmUp());
    assertEquals(Optional.of(8), options.batching().maxRows());
    assertEquals(OwnTimes.NONE, options.limits().ownTimes());
    assertEquals(Optional.of(32), options.limits().queuedRequests());
    assertEquals(Optional.of(Duration.ofMillis(50)), options.limits().queueTimeout());
    assertEquals(Optional.empty(), options.limits().timeout(), "the run may take its time");
    assertEquals(ModelOptions.DEFAULT, TritonOptions.of(TritonConfig.NONE));
  }

  @Test
  void parse_namesWhatIsIgnored() {
    assertEquals(
        List.of(
            "dynamic_batching.preferred_batch_size 64 beyond max_batch_size 8",
            "input.format",
            "instance_group",
            "optimization",
            "output.label_filename",
            "parameters"),
        parse(RESNET).ignored());
  }

  @Test
  void parse_delayBeyondTheLongest_isCutAndNamed() {
    TritonConfig config = parse("dynamic_batching { max_queue_delay_microseconds: 5000000 }");
    assertEquals(Duration.ofSeconds(1), TritonOptions.of(config).batching().maxQueueDelay());
    assertEquals(
        List.of("dynamic_batching.max_queue_delay_microseconds 5000000 beyond a second"),
        config.ignored());
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "max_batch_size: -1, `max_batch_size is -1, least is 0`",
        "dynamic_batching { preferred_batch_size: -4 }, preferred_batch_size has -4",
        "dynamic_batching { preferred_batch_size: 0 }, preferred_batch_size has 0",
        "name: \"other\", `by its folder, or by repository.model-name`",
        "input { name: \"x\" dims: -2 }, `input \"x\" has dims [-2]; each is 1 at least`",
        "output { name: \"y\" dims: 0 }, `output \"y\" has dims [0]; each is 1 at least`",
      })
  void parse_valueThatCannotBe_isRefused(String text, String reason) {
    String refusal = refusal(() -> parse(text));
    assertTrue(refusal.contains(reason), refusal);
  }

  /** A value for each path that is said to be heeded, on top of what it is seen against. */
  private static final Map<String, String> HEEDED =
      Map.ofEntries(
          entry("name", "name: \"other\""),
          entry("platform", "platform: \"tensorrt_plan\""),
          entry("backend", "backend: \"python\""),
          entry("version_policy", "version_policy { all { } }"),
          entry("max_batch_size", "max_batch_size: 4"),
          entry("default_model_filename", "default_model_filename: \"net.onnx\""),
          entry("input.name", "input { name: \"z\" }"),
          entry("input.data_type", "input { name: \"x\" data_type: TYPE_INT64 }"),
          entry("input.dims", "input { name: \"x\" dims: [ 7 ] }"),
          entry("output.name", "output { name: \"z\" }"),
          entry("output.data_type", "output { name: \"y\" data_type: TYPE_INT64 }"),
          entry("output.dims", "output { name: \"y\" dims: [ 7 ] }"),
          entry(
              "dynamic_batching.preferred_batch_size",
              "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4 ] }"),
          entry(
              "dynamic_batching.max_queue_delay_microseconds",
              "dynamic_batching { max_queue_delay_microseconds: 100 }"),
          entry(
              "dynamic_batching.preserve_ordering", "dynamic_batching { preserve_ordering: true }"),
          entry(POLICY + "max_queue_size", policy("max_queue_size: 3")),
          entry(POLICY + "default_timeout_microseconds", policy("default_timeout_microseconds: 5")),
          entry(
              POLICY + "timeout_action",
              policy("default_timeout_microseconds: 5 timeout_action: DELAY")),
          entry(POLICY + "allow_timeout_override", policy("allow_timeout_override: true")),
          entry("model_warmup", "model_warmup { name: \"w\" }"));

  private static String policy(String text) {
    return "dynamic_batching { default_queue_policy { " + text + " } }";
  }

  private static String meaning(String text) {
    List<Long> versions = List.of(1L, 2L);
    try {
      TritonConfig config = parse(text);
      config.check(INPUTS, OUTPUTS);
      return TritonOptions.of(config) + " of " + config.modelFile() + config.served(versions);
    } catch (StatusException e) {
      return String.valueOf(e.getMessage());
    }
  }

  @Test
  void parse_whatIsSaidToBeHeeded_changesSomething() {
    assertEquals(HEEDED.keySet(), TritonConfigFile.HEEDED);
    HEEDED.forEach(
        (path, text) -> {
          String without =
              path.startsWith(POLICY)
                  ? policy(path.endsWith("action") ? "default_timeout_microseconds: 5" : "")
                  : path.endsWith("preferred_batch_size") ? "max_batch_size: 8" : "";
          assertNotEquals(meaning(without), meaning(text), path);
        });
  }

  /** What is late is run behind others there, and in its turn here. */
  @Test
  void timeoutThatDelays_isNoLimit() {
    String delays = policy("default_timeout_microseconds: 5 timeout_action: DELAY");
    assertEquals(Optional.empty(), TritonOptions.of(parse(delays)).limits().queueTimeout());
    assertEquals(List.of(), parse(delays).ignored());
  }

  @Test
  void allowTimeoutOverride_saysWhichTimesRequestsMayName() {
    assertEquals(OwnTimes.ANY, ownTimes("dynamic_batching { }"));
    assertEquals(OwnTimes.NONE, ownTimes(policy("max_queue_size: 3")));
    assertEquals(OwnTimes.SHORTER, ownTimes(policy("allow_timeout_override: true")));
  }

  private static OwnTimes ownTimes(String text) {
    return TritonOptions.of(parse(text)).limits().ownTimes();
  }

  @Test
  void check_letsPassWhatAgrees() {
    parse(RESNET).check(INPUTS, OUTPUTS);
    parse("").check(INPUTS, OUTPUTS);
    parse("input { name: \"x\" dims: [ -1, 3, -1, -1 ] }").check(INPUTS, OUTPUTS);
  }

  /** What clients see, and may send and ask for. */
  @Test
  void inputsAndOutputs_areThoseDeclared() {
    List<TensorSpec> inputs =
        List.of(
            new TensorSpec("x", TensorType.FP32, Shape.of(-1, 3, -1, -1)),
            new TensorSpec("mask", TensorType.BOOL, Shape.of(-1)));
    List<TensorSpec> outputs =
        List.of(
            new TensorSpec("y", TensorType.FP32, Shape.of(-1, -1)),
            new TensorSpec("features", TensorType.FP32, Shape.of(-1, 64)));
    assertEquals(inputs, TritonConfig.NONE.inputs(inputs));
    assertEquals(outputs, TritonConfig.NONE.outputs(outputs));
    TritonConfig config =
        parse(
            "max_batch_size: 8 input { name: \"x\" dims: [ -1, 224, -1 ] }"
                + " output { name: \"y\" dims: 1000 }");
    assertEquals(
        List.of(new TensorSpec("x", TensorType.FP32, Shape.of(-1, 3, 224, -1)), inputs.getLast()),
        config.inputs(inputs));
    assertEquals(
        List.of(new TensorSpec("y", TensorType.FP32, Shape.of(-1, 1000))), config.outputs(outputs));
  }

  /** There is nothing to batch along. */
  @Test
  void check_ofABatchThatTheModelDoesNotHave_saysWhy() {
    List<TensorSpec> fixed = List.of(new TensorSpec("x", TensorType.FP32, Shape.of(1, 4)));
    List<TensorSpec> scalar = List.of(new TensorSpec("y", TensorType.FP32, Shape.of()));
    TritonConfig config = parse("max_batch_size: 8");
    String input = refusal(() -> config.check(fixed, OUTPUTS));
    assertTrue(
        input.endsWith(
            "max_batch_size is 8, but input \"x\" has the shape [1,4] in the model, which leaves no"
                + " first dimension open for a batch"),
        input);
    assertTrue(refusal(() -> config.check(INPUTS, scalar)).contains("output \"y\""));
    parse("max_batch_size: 0").check(fixed, scalar);
  }

  /** Clients do not see it. */
  @Test
  void check_ofAnOutputWithoutABatchThatIsNotNamed_holds() {
    TensorSpec shown = new TensorSpec("y", TensorType.FP32, Shape.of(-1, 1000));
    TensorSpec other = new TensorSpec("loss", TensorType.FP32, Shape.of());

    parse("max_batch_size: 8 output { name: \"y\" dims: 1000 }")
        .check(INPUTS, List.of(shown, other));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "input { name: \"z\" }; is not the model's; it has [x]",
        "input { name: \"c\" optional: true }; is optional, and its default in the model always counts",
        "input { name: \"x\" data_type: TYPE_INT64 }; is of TYPE_INT64",
        "input { name: \"x\" dims: [ 3, 224, 224 ] }; has the shape [3, 224, 224], in the model",
        "output { name: \"y\" dims: [ 10, 100 ] reshape { shape: [ 1000 ] } }; has a reshape",
        "max_batch_size: 1 output { name: \"y\" dims: 10 }; the batch of max_batch_size in front",
      })
  void check_ofWhatDoesNotAgree_saysBoth(String config, String expected) {
    String message = refusal(() -> parse(config).check(INPUTS, OUTPUTS));
    assertTrue(message.contains(expected), message);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "name: \"other\"",
        "platform: \"tensorrt_plan\"",
        "backend: \"python\"",
        "sequence_batching { }",
        "platform: \"ensemble\"",
        "ensemble_scheduling { } platform: \"onnxruntime_onnx\"",
        "ensemble_scheduling { } backend: \"onnxruntime\"",
        "model_transaction_policy { decoupled: true }",
        "batch_input { kind: BATCH_ELEMENT_COUNT target_name: \"n\" source_input: \"x\" }",
        "batch_output { target_name: \"y\" source_input: \"x\" }",
        "input { name: \"x\" allow_ragged_batch: true }",
        "max_batch_size: -1",
        "default_model_filename: \"../model.onnx\"",
        "default_model_filename: \"a/b\"",
        "no_such_key: 1",
        "max_batch_size: ",
        "name: \"resnet",
      })
  void parse_ofWhatCannotBeServed_isRefused(String text) {
    assertTrue(refusal(() -> parse(text)).startsWith("config.pbtxt: "));
  }

  @Test
  void parse_ofARaggedBatch_namesTheKeyThatAsksForIt() {
    String counts =
        "batch_input { kind: BATCH_ELEMENT_COUNT target_name: \"n\" source_input: \"x\" }";
    String flat = "input { name: \"x\" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: %s }";
    assertTrue(
        refusal(() -> parse(counts)).startsWith("config.pbtxt: batch_input asks for ragged"));
    String ragged = refusal(() -> parse(flat.formatted("true")));
    assertTrue(ragged.startsWith("config.pbtxt: input.allow_ragged_batch asks for ragged"), ragged);
    assertEquals(List.of(), parse(flat.formatted("false")).ignored());
  }

  @Test
  void served_followsTheVersionPolicy() {
    List<Long> there = List.of(1L, 2L, 10L);
    assertEquals(there, TritonConfig.NONE.served(there));
    assertEquals(List.of(10L), parse("").served(there));
    assertEquals(
        List.of(2L, 10L), parse("version_policy { latest { num_versions: 2 } }").served(there));
    assertEquals(there, parse("version_policy { all { } }").served(there));
    assertEquals(
        List.of(1L), parse("version_policy { specific { versions: [ 1, 7 ] } }").served(there));
  }

  /** Triton wants a model of several files in a folder that has the model file's name. */
  @Test
  void scan_findsAModelOfSeveralFilesInItsFolder() throws IOException {
    file("plain/1/model.onnx/model.onnx", "x");
    file("plain/1/model.onnx/weights.bin", "x");
    file("named/1/net.onnx/model.onnx", "x");
    file("named/config.pbtxt", "default_model_filename: \"net.onnx\"");
    file("hollow/1/model.onnx/net.onnx", "x");
    RepositoryScan scan = new Repository(root).scan();
    assertEquals(
        List.of(
            root.resolve("named/1/net.onnx/model.onnx"),
            root.resolve("plain/1/model.onnx/model.onnx")),
        scan.registered().stream().map(RepositoryScan.Registered::modelFile).toList());
    assertEquals(
        List.of("version 1: it has no model.onnx/model.onnx"),
        scan.problems().stream().map(RepositoryScan.Problem::reason).toList());
    ModelName only = new ModelName("plain");
    Path folder = root.resolve("plain/1");
    Repository single = new Repository(folder, Optional.of(only), _ -> VersionChoice.NONE);
    assertEquals(
        folder.resolve("model.onnx/model.onnx"), single.scan().registered().getFirst().modelFile());
  }

  @Test
  void scan_takesTheConfigurationThatIsThere() throws IOException {
    file("resnet/1/net.onnx", "x");
    file("resnet/2/net.onnx", "x");
    file("resnet/config.pbtxt", "default_model_filename: \"net.onnx\" model_warmup { }");
    file("ours/1/model.onnx", "x");
    file("ours/config.pbtxt", "model_warmup { }");
    file("ours/pipelane.yaml", "tenant: t");
    RepositoryScan scan = new Repository(root).scan();
    assertEquals(List.of(), scan.problems());
    assertEquals(
        List.of("ours/1", "resnet/2"),
        scan.registered().stream().map(found -> found.version().toString()).toList());
    assertEquals("t", scan.registered().getFirst().options().tenant());
    assertEquals(false, scan.registered().getFirst().options().warmUp());
    assertEquals(true, scan.registered().getLast().options().warmUp());
    assertTrue(scan.registered().getLast().modelFile().endsWith("resnet/2/net.onnx"));
  }

  @Test
  void scan_withAConfiguration_takesItInsteadOfWhatIsThere() throws IOException {
    file("m/1/model.onnx", "x");
    file("m/2/model.onnx", "x");
    file("m/pipelane.yaml", "tenant: t");
    Repository repository = new Repository(root);
    TritonConfig all =
        TritonConfig.ofJson(
            "{\"version_policy\": {\"all\": {}}, \"model_warmup\": [{\"name\": \"w\"}]}", "m");
    RepositoryScan scan = repository.scan("m", Optional.of(all));
    assertEquals(
        List.of("m/1", "m/2"),
        scan.registered().stream().map(found -> found.version().toString()).toList());
    assertEquals("", scan.registered().getFirst().options().tenant());
    assertEquals(true, scan.registered().getFirst().options().warmUp());
    assertEquals(
        "t", repository.scan("m", Optional.empty()).registered().get(0).options().tenant());
    assertEquals(List.of(), repository.scan("nobody", Optional.empty()).registered());
    assertEquals(List.of(), repository.scan("../m", Optional.empty()).registered());
  }

  @Test
  void ofJson_whatIsNoConfiguration_isRefused() {
    for (String wrong : List.of("{", "[]", "{\"backend\": \"python\"}", "{\"nobody\": 1}")) {
      StatusException error =
          assertThrows(StatusException.class, () -> TritonConfig.ofJson(wrong, "m"), wrong);
      assertEquals(Status.INVALID_ARGUMENT, error.status());
    }
  }

  @Test
  void scan_ofASingleModel_findsItsFileOrItsVersions() throws IOException {
    Repository repository =
        new Repository(root, Optional.of(new ModelName("only one")), _ -> VersionChoice.NONE);
    file("model.onnx", "x");
    assertEquals("only one/1", repository.scan().registered().getFirst().version().toString());
    file("3/model.onnx", "x");
    assertEquals("only one/3", repository.scan().registered().getFirst().version().toString());
    assertEquals(1, repository.scan().registered().size());
  }

  private void file(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }
}
