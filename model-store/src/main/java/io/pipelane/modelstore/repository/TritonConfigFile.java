package io.pipelane.modelstore.repository;

import static io.pipelane.modelstore.repository.TritonConfig.refused;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import com.google.protobuf.util.JsonFormat;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ModelName;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.protocol.grpc.ModelInput;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A reader of {@code config.pbtxt}, and of what stands for it. */
final class TritonConfigFile {
  static final String NAME = "config.pbtxt";

  private static final String PREFERRED = "dynamic_batching.preferred_batch_size";
  private static final String DELAY = "dynamic_batching.max_queue_delay_microseconds";
  private static final long OPEN = -1;
  private static final int MAXIMUM_BYTES = 1 << 20;

  /** Some editors begin a file with it. */
  private static final String BYTE_ORDER_MARK = "\uFEFF";

  private static final Set<String> HEEDED_OF_ALL =
      Set.of(
          "name",
          "platform",
          "max_batch_size",
          "input.name",
          "input.data_type",
          "input.dims",
          "output.name",
          "output.data_type",
          "output.dims");

  /** What has a meaning here, each with all that lies below it. */
  static final Set<String> HEEDED =
      withThoseOfAll(
          "backend",
          "version_policy",
          "default_model_filename",
          PREFERRED,
          DELAY,
          "dynamic_batching.preserve_ordering",
          "dynamic_batching.default_queue_policy.max_queue_size",
          "dynamic_batching.default_queue_policy.default_timeout_microseconds",
          "dynamic_batching.default_queue_policy.timeout_action",
          "dynamic_batching.default_queue_policy.allow_timeout_override",
          "model_warmup");

  /** The same for an ensemble. */
  static final Set<String> HEEDED_OF_ENSEMBLES =
      withThoseOfAll(
          "ensemble_scheduling.step.model_name",
          "ensemble_scheduling.step.model_version",
          "ensemble_scheduling.step.input_map",
          "ensemble_scheduling.step.output_map");

  private TritonConfigFile() {}

  private static Set<String> withThoseOfAll(String... more) {
    return Stream.concat(HEEDED_OF_ALL.stream(), Stream.of(more))
        .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * Reads a model's configuration; a missing file asks for nothing.
   *
   * @throws StatusException {@link io.pipelane.config.Status#INVALID_ARGUMENT} for a file that is
   *     none, and for a model that cannot be served as it says
   */
  static TritonConfig read(Path file, String model) throws IOException {
    if (!Files.exists(file)) {
      return TritonConfig.NONE;
    }
    if (!Files.isRegularFile(file) || Files.size(file) > MAXIMUM_BYTES) {
      throw refused("is no file of at most " + MAXIMUM_BYTES + " bytes");
    }
    return parse(Files.readString(file), model);
  }

  static TritonConfig parse(String text, String model) {
    ModelConfig.Builder config = ModelConfig.newBuilder();
    try {
      boolean isMarked = text.startsWith(BYTE_ORDER_MARK);
      TextFormat.merge(isMarked ? text.substring(BYTE_ORDER_MARK.length()) : text, config);
    } catch (TextFormat.ParseException e) {
      throw refused("cannot be read at line and column " + e.getMessage());
    }
    return checked(config, model);
  }

  /** The same as JSON. */
  static TritonConfig parseJson(String json, String model) {
    ModelConfig.Builder config = ModelConfig.newBuilder();
    try {
      JsonFormat.parser().merge(json, config);
    } catch (InvalidProtocolBufferException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "the configuration cannot be read: " + e.getMessage(), e);
    }
    return checked(config, model);
  }

  private static TritonConfig checked(ModelConfig.Builder config, String model) {
    checkServable(config, model);
    NavigableSet<String> ignored = new TreeSet<>();
    Set<String> heeded = config.hasEnsembleScheduling() ? HEEDED_OF_ENSEMBLES : HEEDED;
    collectIgnored(config.build(), heeded, "", ignored);
    int most = Math.max(1, config.getMaxBatchSize());
    config.getDynamicBatching().getPreferredBatchSizeList().stream()
        .filter(size -> size > most)
        .map(size -> PREFERRED + " " + size + " beyond max_batch_size " + config.getMaxBatchSize())
        .forEach(ignored::add);
    long delay = config.getDynamicBatching().getMaxQueueDelayMicroseconds();
    if (TritonOptions.isBeyondLongest(delay)) {
      ignored.add("%s %s beyond a second".formatted(DELAY, Long.toUnsignedString(delay)));
    }
    return new TritonConfig(true, config.build(), List.copyOf(ignored));
  }

  private static void checkServable(ModelConfig.Builder config, String model) {
    if (!config.getName().isEmpty() && !config.getName().equals(model)) {
      throw refused(
          ("name is \"%s\", but the model is \"%s\" by its folder, or by repository.model-name"
                  + " where that is set; leave it out, or make them alike")
              .formatted(config.getName(), model));
    }
    boolean isEnsemble = config.hasEnsembleScheduling();
    boolean known =
        List.of("", isEnsemble ? TritonConfig.ENSEMBLE : "onnxruntime_onnx")
                .contains(config.getPlatform())
            && List.of("", isEnsemble ? "" : "onnxruntime").contains(config.getBackend());
    if (!known) {
      throw refused(
          "platform \"%s\" with backend \"%s\" is not served%s; only ONNX models and ensembles are"
              .formatted(
                  config.getPlatform(),
                  config.getBackend(),
                  isEnsemble ? " with ensemble_scheduling" : ""));
    }
    if (config.hasSequenceBatching() || config.getModelTransactionPolicy().getDecoupled()) {
      throw refused("sequence batching and decoupled models are not served");
    }
    requireNoRaggedBatch(config);
    requirePossibleNumbers(config);
    String file = config.getDefaultModelFilename();
    if (!file.isEmpty() && !ModelName.isOne(file)) {
      throw refused("default_model_filename \"" + file + "\" is not the name of a file alone");
    }
  }

  private static void requirePossibleNumbers(ModelConfig.Builder config) {
    if (config.getMaxBatchSize() < 0) {
      throw refused("max_batch_size is " + config.getMaxBatchSize() + ", least is 0");
    }
    for (int size : config.getDynamicBatching().getPreferredBatchSizeList()) {
      if (size < 1) {
        throw refused("%s has %d, least is 1".formatted(PREFERRED, size));
      }
    }
    config.getInputList().forEach(it -> requirePossible("input", it.getName(), it.getDimsList()));
    config.getOutputList().forEach(it -> requirePossible("output", it.getName(), it.getDimsList()));
  }

  private static void requirePossible(String kind, String name, List<Long> dims) {
    if (dims.stream().anyMatch(size -> size < 1 && size != OPEN)) {
      throw refused(
          "%s \"%s\" has dims %s; each is 1 at least, or %d for any"
              .formatted(kind, name, dims, OPEN));
    }
  }

  /**
   * Such a model takes the elements of all requests in one tensor without rows, and where each
   * request begins in it; given rows, as without the key, it would answer something else.
   */
  private static void requireNoRaggedBatch(ModelConfig.Builder config) {
    @Nullable String key = null;
    if (config.getBatchInputCount() > 0) {
      key = "batch_input";
    } else if (config.getBatchOutputCount() > 0) {
      key = "batch_output";
    } else if (config.getInputList().stream().anyMatch(ModelInput::getAllowRaggedBatch)) {
      key = "input.allow_ragged_batch";
    }
    if (key != null) {
      throw refused(
          key
              + " asks for ragged batches, which are not served; leave it out only if the model"
              + " itself takes its inputs in rows, as clients send them");
    }
  }

  private static void collectIgnored(
      Message message, Set<String> all, String prefix, NavigableSet<String> ignored) {
    message
        .getAllFields()
        .forEach(
            (field, value) -> {
              String path = prefix + field.getName();
              if (all.contains(path)) {
                return;
              }
              if (all.stream().noneMatch(heeded -> heeded.startsWith(path + "."))) {
                ignored.add(path);
              } else if (field.isRepeated()) {
                for (Object part : (List<?>) value) {
                  collectIgnored((Message) part, all, path + ".", ignored);
                }
              } else {
                collectIgnored((Message) value, all, path + ".", ignored);
              }
            });
  }
}
