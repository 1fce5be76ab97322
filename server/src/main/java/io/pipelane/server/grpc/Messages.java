package io.pipelane.server.grpc;

import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.protocol.grpc.InferBatchStatistics;
import io.pipelane.protocol.grpc.InferStatistics;
import io.pipelane.protocol.grpc.MemoryUsage;
import io.pipelane.protocol.grpc.ModelMetadataResponse;
import io.pipelane.protocol.grpc.ModelMetadataResponse.TensorMetadata;
import io.pipelane.protocol.grpc.ModelStatistics;
import io.pipelane.protocol.grpc.ModelStatisticsResponse;
import io.pipelane.protocol.grpc.RepositoryIndexResponse;
import io.pipelane.protocol.grpc.RepositoryIndexResponse.ModelIndex;
import io.pipelane.protocol.grpc.StatisticDuration;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.ModelConfigs;
import io.pipelane.server.state.HeldMemory;
import io.pipelane.server.statistics.BatchCounters;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.server.statistics.ModelCounters.Total;
import java.util.List;

/** The messages of what the catalogue and the statistics know. */
final class Messages {
  private Messages() {}

  static ModelMetadataResponse metadata(ServedModel model, TritonConfig declared) {
    return ModelMetadataResponse.newBuilder()
        .setName(model.version().model())
        .addAllVersions(model.versions().stream().map(Object::toString).toList())
        .setPlatform(ModelConfigs.platform(declared))
        .addAllInputs(model.inputs().stream().map(Messages::tensor).toList())
        .addAllOutputs(model.outputs().stream().map(Messages::tensor).toList())
        .build();
  }

  private static TensorMetadata tensor(TensorSpec spec) {
    TensorMetadata.Builder tensor =
        TensorMetadata.newBuilder().setName(spec.name()).setDatatype(spec.type().name());
    for (int axis = 0; axis < spec.shape().rank(); axis++) {
      tensor.addShape(spec.shape().dimension(axis));
    }
    return tensor.build();
  }

  static RepositoryIndexResponse index(List<Entry> entries, boolean onlyReady) {
    RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
    for (Entry entry : entries) {
      if (!onlyReady || entry.state() == State.READY) {
        index.addModels(
            ModelIndex.newBuilder()
                .setName(entry.name())
                .setVersion(entry.version())
                .setState(entry.state().name())
                .setReason(entry.reason()));
      }
    }
    return index.build();
  }

  static ModelStatisticsResponse statistics(List<ModelCounters> models, HeldMemory held) {
    return ModelStatisticsResponse.newBuilder()
        .addAllModelStats(
            models.stream().map(model -> statistics(model, held.of(model.version()))).toList())
        .build();
  }

  private static ModelStatistics statistics(ModelCounters counters, List<HeldMemory.Part> held) {
    ModelStatistics.Builder message =
        ModelStatistics.newBuilder()
            .setName(counters.version().model())
            .setVersion(Long.toString(counters.version().version()))
            .setLastInference(counters.lastInferenceMillis())
            .setInferenceCount(counters.inferences())
            .setExecutionCount(counters.executions())
            .setInferenceStats(
                InferStatistics.newBuilder()
                    .setSuccess(duration(counters.success()))
                    .setFail(duration(counters.failure()))
                    .setQueue(duration(counters.queue()))
                    .setComputeInput(duration(counters.decode()))
                    .setComputeInfer(duration(counters.execute()))
                    .setComputeOutput(duration(counters.encode()))
                    .setCacheHit(StatisticDuration.getDefaultInstance())
                    .setCacheMiss(StatisticDuration.getDefaultInstance()));
    for (BatchCounters batch : counters.batches()) {
      message.addBatchStats(
          InferBatchStatistics.newBuilder()
              .setBatchSize(batch.size())
              .setComputeInput(duration(batch.decode()))
              .setComputeInfer(duration(batch.execute()))
              .setComputeOutput(duration(batch.encode())));
    }
    for (HeldMemory.Part part : held) {
      message.addMemoryUsage(
          MemoryUsage.newBuilder()
              .setType(part.place().type())
              .setId(part.place().id())
              .setByteSize(part.bytes()));
    }
    return message.build();
  }

  private static StatisticDuration duration(Total total) {
    return StatisticDuration.newBuilder().setCount(total.count()).setNs(total.nanos()).build();
  }
}
