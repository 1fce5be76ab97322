package io.pipelane.modelstore.repository;

import static io.pipelane.modelstore.repository.TritonConfig.refused;

import io.pipelane.config.value.ModelName;
import io.pipelane.protocol.grpc.DataType;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.protocol.grpc.ModelWarmup;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.LongStream;

/** The requests that {@code model_warmup} asks for. */
final class TritonWarmUps {
  private TritonWarmUps() {}

  /**
   * The requests; one that names no inputs stands for having the weights brought in alone.
   *
   * @throws io.pipelane.config.StatusException for what no request can be
   */
  static List<WarmUp> of(ModelConfig config) {
    List<WarmUp> requests = new ArrayList<>();
    for (ModelWarmup sample : config.getModelWarmupList()) {
      if (sample.getInputsCount() > 0) {
        requests.add(request(sample, config.getMaxBatchSize()));
      }
    }
    if (WarmUp.runs(requests) > WarmUp.MOST_RUNS) {
      throw refused(
          "model_warmup asks for %d runs; allowed are %d in all"
              .formatted(WarmUp.runs(requests), WarmUp.MOST_RUNS));
    }
    return requests;
  }

  private static WarmUp request(ModelWarmup sample, int maxBatchSize) {
    String name = "model_warmup \"" + sample.getName() + "\"";
    int rows = Math.max(1, sample.getBatchSize());
    if (sample.getBatchSize() < 0 || rows > Math.max(1, maxBatchSize)) {
      throw refused(
          "%s: batch_size is %d, max_batch_size is %d"
              .formatted(name, Integer.toUnsignedLong(sample.getBatchSize()), maxBatchSize));
    }
    int count = Math.max(1, sample.getCount());
    if (sample.getCount() < 0 || count > WarmUp.MOST_RUNS) {
      throw refused(
          "%s: count is %d; allowed are %d"
              .formatted(name, Integer.toUnsignedLong(sample.getCount()), WarmUp.MOST_RUNS));
    }
    List<WarmUp.Input> inputs = new ArrayList<>();
    for (Map.Entry<String, ModelWarmup.Input> each :
        new TreeMap<>(sample.getInputsMap()).entrySet()) {
      inputs.add(input(name, each.getKey(), each.getValue(), maxBatchSize > 0, rows));
    }
    return new WarmUp(sample.getName(), count, inputs);
  }

  private static WarmUp.Input input(
      String sample, String name, ModelWarmup.Input input, boolean batched, int rows) {
    String label = "%s: input \"%s\"".formatted(sample, name);
    LongStream dims = input.getDimsList().stream().mapToLong(Long::longValue);
    long[] shape = (batched ? LongStream.concat(LongStream.of(rows), dims) : dims).toArray();
    if (LongStream.of(shape).anyMatch(dimension -> dimension < 0)) {
      throw refused(label + ": dims are " + input.getDimsList() + "; each must be known");
    }
    WarmUp.Data data =
        switch (input.getInputDataTypeCase()) {
          case ZERO_DATA -> new WarmUp.Zeros();
          case RANDOM_DATA -> new WarmUp.MadeUp();
          case INPUT_DATA_FILE -> file(label, input.getInputDataFile(), rows);
          case INPUTDATATYPE_NOT_SET ->
              throw refused(
                  label + " has no data; give it zero_data, random_data or input_data_file");
        };
    return new WarmUp.Input(name, type(label, input.getDataType()), Shape.of(shape), data);
  }

  private static WarmUp.Data file(String label, String name, int rows) {
    if (!ModelName.isOne(name)) {
      throw refused(
          "%s: input_data_file \"%s\" is not the name of a file in %s"
              .formatted(label, name, WarmUp.FOLDER));
    }
    return new WarmUp.FromFile(Path.of(name), rows);
  }

  private static Optional<TensorType> type(String label, DataType type) {
    for (TensorType each : TensorType.values()) {
      if (TritonConfig.typeOf(each) == type) {
        return Optional.of(each);
      }
    }
    if (type == DataType.TYPE_INVALID) {
      return Optional.empty();
    }
    throw refused(label + ": data_type " + type + " is none that can be served");
  }
}
